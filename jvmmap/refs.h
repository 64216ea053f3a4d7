/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weak references to sampled objects. When the JVM has collected an object,
 * jvmmap_hook_gone(number) is called. Without a session that wants this, there are no references
 * and no memory is used.
 */
#pragma once

#include <jni.h>
#include <stdint.h>

/* Starts, or drops everything. Runs on any thread of the JVM. */
void refs_settle(JavaVM *vm, int is_wanted);

/* The number of the object; 0 if it is not tracked: no session wants it, or there is no room. */
uint64_t refs_add(JNIEnv *jni, jobject object);

/* Reports all objects that have been collected. */
void refs_report(JNIEnv *jni);
