/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own thread. It exists only while classes are changed, because no thread that reports
 * events may restore them.
 */
#pragma once

#include <jvmti.h>

/*
 * Starts a daemon thread of the JVM that calls `turn` every second until it returns 0. The thread
 * is hidden from programs in the JVM. Call it from a thread of the JVM in native state.
 */
jvmtiError watch_start(JavaVM *vm, jvmtiEnv *env, int (*turn)(JavaVM *vm));
