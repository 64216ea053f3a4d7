/* SPDX-License-Identifier: Apache-2.0 */
/* The native methods of Forks.java. */
/* BUILD-FLAGS: -shared -fPIC */
#include <jni.h>
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
