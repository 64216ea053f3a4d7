/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own thread. */
#include "jvmmap/watch.h"

#include "jvmmap/sys.h"

#define TURN_MS     1000
#define THREAD_NAME "sysflame"

struct watch {
	JavaVM *vm;
	int (*turn)(JavaVM *vm);
};

static struct watch watch; /* of the only thread */

/* In native state while it sleeps: it delays no safepoint. */
static void JNICALL run(jvmtiEnv *env, JNIEnv *jni, void *arg)
{
	do
		sys_sleep_ms(TURN_MS);
	while (watch.turn(watch.vm));
}

/* NULL with an exception pending if there is no memory. */
static jobject make_thread(JNIEnv *jni)
{
	jclass class = (*jni)->FindClass(jni, "java/lang/Thread");
	jmethodID make =
		class ? (*jni)->GetMethodID(jni, class, "<init>", "(Ljava/lang/String;)V") : NULL;
	jstring name = make ? (*jni)->NewStringUTF(jni, THREAD_NAME) : NULL;

	return name ? (*jni)->NewObject(jni, class, make, name) : NULL;
}

jvmtiError watch_start(JavaVM *vm, jvmtiEnv *env, int (*turn)(JavaVM *vm))
{
	JNIEnv *jni = NULL;

	if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_6) != JNI_OK)
		return JVMTI_ERROR_UNATTACHED_THREAD;
	if ((*jni)->PushLocalFrame(jni, 8))
		return JVMTI_ERROR_OUT_OF_MEMORY;
	jobject thread = make_thread(jni);
	watch = (struct watch){ vm, turn };
	jvmtiError err = (*jni)->ExceptionCheck(jni) || !thread
				 ? JVMTI_ERROR_OUT_OF_MEMORY
				 : (*env)->RunAgentThread(env, thread, run, NULL,
							  JVMTI_THREAD_NORM_PRIORITY);
	if ((*jni)->ExceptionCheck(jni))
		(*jni)->ExceptionClear(jni);
	(*jni)->PopLocalFrame(jni, NULL);
	return err;
}
