/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own thread. It exists only while classes are changed: no event of the JVM is on a
 * thread that may change them back.
 */
#pragma once

#include <jvmti.h>

/*
 * Starts a daemon thread of the JVM that calls `turn` every second until it returns 0. Programs in
 * the JVM do not see the thread. Call it from a thread of the JVM in native state.
 */
jvmtiError watch_start(JavaVM *vm, jvmtiEnv *env, int (*turn)(JavaVM *vm));
