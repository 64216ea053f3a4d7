/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds loops that are running in methods of given classes. When a class changes, HotSpot continues
 * the old version of every running method and never compiles it. A loop that does not return then
 * stays in the interpreter forever.
 */
#pragma once

#include <jvmti.h>

#define RUNNING_CLASSES 64 /* most classes in one call */

struct running {
	int is_busy[RUNNING_CLASSES]; /* a loop runs in a method of that class and would become slow
				       */
	jmethodID method;             /* a method with such a loop; NULL if no class is busy */
};

/*
 * Samples the stacks of all threads for half a second, as long as a loop may be running. A loop
 * that only waits in calls is not busy. A loop counts as busy if it cannot be watched: there are
 * too many loops, or its stack is too deep. Virtual threads are not seen, because JVMTI lists
 * platform threads only. `env` must have the capability can_get_bytecodes.
 */
jvmtiError running_find(jvmtiEnv *env, const jclass *classes, int nr, struct running *out);
