/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weak references to sampled objects, by which it is told when the JVM has collected them: it calls
 * jvmmap_hook_gone(number). No references are kept, and no memory, unless somebody wants to know.
 */
#pragma once

#include <jni.h>
#include <stdint.h>

/* Begins, or drops all. On any thread of the JVM. */
void refs_settle(JavaVM *vm, int is_wanted);

/* The number of the object; 0 if it is not followed: nobody wants it, or there is no room. */
uint64_t refs_add(JNIEnv *jni, jobject object);

/* Tells of all that are gone by now. */
void refs_tell(JNIEnv *jni);
