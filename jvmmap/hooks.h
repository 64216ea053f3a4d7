/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in Java code, reported at once: the JVM calls the agent, and the agent calls an empty
 * function. sysflame has a uprobe on that function, so the kernel samples the current stack. Each
 * kind of event has its own JVMTI environment, made at its first use: capabilities are granted all
 * or none, and only one agent per JVM can sample allocations.
 */
#pragma once

#include <jni.h>
#include <stdint.h>

#include "jvmmap/session.h"

/*
 * Turns each event on if a session wants it, and off if none does. Writes the results to the header
 * of `asking` (may be NULL). Called with the agent's lock held, on any thread.
 */
void hooks_settle(JavaVM *vm, struct session *const sessions[], int nr, struct session *asking);

/*
 * Weak references to sampled objects. When the JVM has collected an object,
 * jvmmap_hook_gone(number) is called. Without a session that wants this, there are no references
 * and no memory is used. refs_settle starts, or drops everything. Runs on any thread of the JVM.
 */
void refs_settle(JavaVM *vm, int is_wanted);

/* The number of the object; 0 if it is not tracked: no session wants it, or there is no room. */
uint64_t refs_add(JNIEnv *jni, jobject object);

/* Reports all objects that have been collected. */
void refs_report(JNIEnv *jni);
