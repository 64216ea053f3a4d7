/* SPDX-License-Identifier: Apache-2.0 */
/* A native method of Shapes.java that calls back into Java. */
/* BUILD-FLAGS: -shared -fPIC -fomit-frame-pointer */
#include <jni.h>

JNIEXPORT jint JNICALL Java_Shapes_callBack(JNIEnv *env, jclass class, jint x)
{
	static jmethodID method;

	if (!method)
		method = (*env)->GetStaticMethodID(env, class, "calledBack", "(I)I");
	return (*env)->CallStaticIntMethod(env, class, method, x) + 1; /* no tail call */
}
