/* SPDX-License-Identifier: Apache-2.0 */
/* The native methods of Forks.java and Becomes.java. */
/* BUILD-FLAGS: -shared -fPIC */
#include <jni.h>
#include <linux/close_range.h>
#include <sys/wait.h>
#include <unistd.h>

JNIEXPORT jint JNICALL Java_Forks_fork(JNIEnv *env, jclass class)
{
	return fork();
}

JNIEXPORT void JNICALL Java_Forks_exit(JNIEnv *env, jclass class)
{
	_exit(7);
}

JNIEXPORT jint JNICALL Java_Forks_await(JNIEnv *env, jclass class, jint pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

JNIEXPORT void JNICALL Java_Becomes_exec(JNIEnv *env, jclass class, jobjectArray command)
{
	char *argv[64] = { 0 };
	int nr = (*env)->GetArrayLength(env, command);

	for (int i = 0; i < nr && i < 63; i++) {
		jobject word = (*env)->GetObjectArrayElement(env, command, i);
		argv[i] = (char *)(*env)->GetStringUTFChars(env, word, NULL);
	}
	close_range(3, ~0u,
		    CLOSE_RANGE_CLOEXEC); /* e.g. the attach listener's socket must not stay open */
	execvp(argv[0], argv);
}
