/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of Java methods. While a session wants a method, the method begins with a call of the hook.
 */
#pragma once

#include "jvmmap/session.h"

/*
 * Collects the methods wanted by sessions that are still in use. Call it with the agent's lock
 * held. It copies them, so that methods_apply can run without the lock. Returns whether
 * methods_apply has work.
 */
int methods_settle(struct session *const sessions[], int nr, uint64_t now_ns);

/*
 * Changes the classes accordingly. Only commands may call it, which run one at a time. It runs
 * without the lock, because the JVM reaches a safepoint for it. JVMTI_ERROR_INVALID_CLASS if a
 * class is not loaded, JVMTI_ERROR_INVALID_METHODID if it has no such method with code.
 */
jvmtiError methods_apply(JavaVM *vm);
