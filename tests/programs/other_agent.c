/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another tool's JVMTI agent. It takes the events of compiled methods and of sampled allocations;
 * the JVM gives the latter to one agent only.
 */
/* BUILD-FLAGS: -shared -fPIC */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>

static volatile long nr_loads;

static void JNICALL on_load(jvmtiEnv *env, jmethodID method, jint size, const void *addr,
			    jint map_length, const jvmtiAddrLocationMap *map, const void *info)
{
	__atomic_fetch_add(&nr_loads, 1, __ATOMIC_RELAXED);
}

static void JNICALL on_alloc(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object,
			     jclass class, jlong size)
{
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiCapabilities wanted = { .can_generate_compiled_method_load_events = 1,
					   .can_generate_sampled_object_alloc_events = 1 };
	const jvmtiEventCallbacks callbacks = { .CompiledMethodLoad = on_load,
						.SampledObjectAlloc = on_alloc };
	jvmtiEnv *env;

	if ((*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_11) ||
	    (*env)->AddCapabilities(env, &wanted) ||
	    (*env)->SetEventCallbacks(env, &callbacks, sizeof(callbacks)) ||
	    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD,
					     NULL) ||
	    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
					     NULL))
		return JNI_ERR;
	return JNI_OK;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
	fprintf(stderr, "other agent: %ld loads\n", nr_loads);
}
