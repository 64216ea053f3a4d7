/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose threads the debug tools stop briefly to walk their stacks on the host. */
#pragma once

#include <sys/user.h>

#include "capture/unwind/thread_regs.h"
#include "capture/unwind/walker.h"
#include "jvm/hotspot/hotspot.h"
#include "proc/mapping.h"

struct stopped {
	pid_t pid;
	u64 start_stack; /* sp at which its first thread began; 0 if unknown */
	struct mappings mappings;
	struct tables *tables;
	struct hotspot *jvm; /* NULL if the process is not a JVM */
	struct native *native;
};

/* Fills the unwinder's tables for `pid`. Call stopped_fini also after a failure. */
int stopped_init(struct stopped *t, pid_t pid);
void stopped_fini(struct stopped *t);

/*
 * Stops a thread. *signal is a signal that was about to be delivered: pass it on when the thread
 * continues. The caller detaches from the thread.
 */
int stopped_seize(pid_t tid, struct thread_regs *regs, int *signal);

/* Walks the stack of a stopped thread. Reads new mappings of the process if it has to. */
int stopped_walk(struct stopped *t, const struct thread_regs *regs, struct walked *out);

void stopped_print(struct stopped *t, pid_t tid, const struct walked *w);

/* Prints one line for flamegraph.pl, root first. The first word is how the walk ended. */
void stopped_print_collapsed(struct stopped *t, const struct walked *w);
