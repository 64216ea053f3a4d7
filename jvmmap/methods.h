/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of Java methods: a call of the hook stands at their beginning while a session wants it. */
#pragma once

#include "jvmmap/session.h"

/*
 * What sessions want that are wanted themselves; with the agent's lock held. Takes what it needs of
 * the sessions, so that the rest can be done without the lock. Whether there is anything to do.
 */
int methods_settle(struct session *const sessions[], int nr, uint64_t now_ns);

/*
 * Changes the classes to that. Only commands may call it, which come one at a time; without the
 * lock, because the JVM stops for it. JVMTI_ERROR_INVALID_CLASS: one is not loaded,
 * JVMTI_ERROR_INVALID_METHODID: one has no such method with code.
 */
jvmtiError methods_apply(JavaVM *vm);
