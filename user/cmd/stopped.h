/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose threads the debug tools stop for a moment, to walk their stacks on the host. */
#pragma once

#include <sys/user.h>

#include "capture/walker.h"
#include "jvm/hotspot.h"
#include "proc/mapping.h"

struct stopped {
	pid_t pid;
	struct mappings mappings;
	struct tables *tables;
	struct hotspot *jvm; /* NULL if it is none */
	struct native *native;
};

/* Learns what the unwinder must know of `pid`; stopped_fini also after a failure. */
int stopped_init(struct stopped *t, pid_t pid);
void stopped_fini(struct stopped *t);

/*
 * Stops a thread; *signal is what it was about to get, to be handed on when it goes on. The caller
 * detaches from it.
 */
int stopped_seize(pid_t tid, struct user_regs_struct *regs, int *signal);

/* Walks the stack of a stopped thread; what is new in the process is learned if need be. */
int stopped_walk(struct stopped *t, const struct user_regs_struct *regs, struct walked *out);

void stopped_print(struct stopped *t, pid_t tid, const struct walked *w);

/* Root first, one line, as flamegraph.pl reads it; the first word says how the walk ended. */
void stopped_print_collapsed(struct stopped *t, const struct walked *w);
