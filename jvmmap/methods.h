/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of Java methods. While a session wants a method, the method begins with a call of the hook,
 * or compares the duration of each call when it ends.
 */
#pragma once

#include "jvmmap/session.h"

/*
 * Collects the methods wanted by sessions that are still in use. Call it with the agent's lock
 * held. It copies them, so that methods_apply can run without the lock. Returns whether
 * methods_apply has work. Only one thread at a time may call this and the functions below.
 */
int methods_settle(struct session *const sessions[], int nr, uint64_t now_ns);

/*
 * Changes the classes as methods_settle has found. Runs without the lock, because the JVM reaches a
 * safepoint for the change.
 */
jvmtiError methods_apply(JavaVM *vm);

/*
 * Why calls of a method of a session, "a/B.run" or "a/B.run:NS", are not reported after
 * methods_apply. JVMTI_ERROR_INVALID_CLASS if its class is not loaded, JVMTI_ERROR_INVALID_METHODID
 * if that has no such method with code. WIRE_ERROR_RUNNING if a method of the class has a loop that
 * runs now (running.h): the class then stays as it is, changed or not. JVMTI_ERROR_OUT_OF_MEMORY if
 * there are more than WIRE_METHODS.
 */
jvmtiError methods_state(const char *text, size_t len);

/*
 * Whether methods_apply has run for the methods that methods_settle found last, and has restored
 * every class that no session wants.
 */
int methods_are_current(void);

/* Whether a class is changed. */
int methods_are_changed(void);

/* The method of the last WIRE_ERROR_RUNNING: "a/B.run". */
const char *methods_running(void);
