/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lock that a Java thread waits for, by the thread's stack. */
#pragma once

#include "sym/symbolize.h"

enum lockstack {
	LOCKSTACK_NONE,    /* not a lock */
	LOCKSTACK_MONITOR, /* any monitor; needs libjvm's symbols */
	LOCKSTACK_LOCK,    /* a lock of java.util.concurrent, or one built on its synchronizers */
};

/*
 * Classifies the stack of a waiting thread, leaf first. For a lock its class, or "[monitor]",
 * becomes the leaf, and the frames of the waiting itself are removed. `class` is that of the object
 * that the thread waits for, if it is known: the lock's class is then the outermost one around it.
 * NULL: it is that of the method that waits.
 */
enum lockstack lockstack_name(struct symbolizer *s, const struct frames *all, frame_list *frames,
			      const char *class);

/*
 * The same for a thread that is known to wait for a monitor, of an object of that class; NULL: a
 * "[monitor]". Returns whether the stack has a Java
 * frame.
 */
bool lockstack_name_monitor(struct symbolizer *s, const struct frames *all, frame_list *frames,
			    const char *class);
