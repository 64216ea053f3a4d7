/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that run in methods of some classes. When a class changes, HotSpot goes on with the old
 * version of every method that is running, and never compiles an old version. A loop that does not
 * return then stays in the interpreter for good.
 */
#pragma once

#include <jvmti.h>

#define RUNNING_CLASSES 64 /* at most, in one call */

struct running {
	int is_busy[RUNNING_CLASSES]; /* a method of that class loops, and would become slow */
	jmethodID method;             /* one of them; NULL if there is none */
};

/*
 * Looks at the stacks of all threads, again and again for half a second while a loop may be
 * running. A loop that only waits in calls is not busy, unless it cannot be watched: there are too
 * many loops, or its stack is too deep. Virtual threads are not seen, because JVMTI lists platform
 * threads only. The environment can get bytecodes.
 */
jvmtiError running_find(jvmtiEnv *env, const jclass *classes, int nr, struct running *out);
