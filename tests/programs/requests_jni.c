/* SPDX-License-Identifier: Apache-2.0 */
/* The native methods of Requests.java: the variable in a library that a JVM loads. */
/* BUILD-FLAGS: -shared -fPIC -mtls-dialect=gnu2 */
#include <jni.h>

#include "request_record.h"

__thread const void *otel_thread_ctx_v1;
static __thread struct record record;

JNIEXPORT void JNICALL Java_Requests_publish(JNIEnv *env, jclass class)
{
	if (publish_keys())
		(*env)->FatalError(env, "no context");
}

JNIEXPORT void JNICALL Java_Requests_begin(JNIEnv *env, jclass class, jint route, jlong number)
{
	char text[32];

	snprintf(text, sizeof(text), "/r%d", route);
	fill_record(&record, text, (uint64_t)number, 1);
	*(const void *volatile *)&otel_thread_ctx_v1 = &record;
}

JNIEXPORT void JNICALL Java_Requests_end(JNIEnv *env, jclass class)
{
	*(const void *volatile *)&otel_thread_ctx_v1 = NULL;
}
