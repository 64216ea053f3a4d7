/* SPDX-License-Identifier: Apache-2.0 */
/* A command that is profiled from its first instruction: started, held, released. */
#pragma once

#include "base/types.h"

struct child {
	pid_t pid;
	int pidfd;      /* readable when the child has ended */
	int release_fd; /* closing it without a byte ends the child; 0 once released */
};

/* Forks a child that waits before it executes argv (NULL-terminated). */
int child_hold(char **argv, struct child *out);

/* Lets the child execute the command; a negative errno if that fails. */
int child_release(struct child *c);

/* Waits for its end. Returns its exit status as a shell does: 128 + N for signal N. */
int child_wait(struct child *c);

/* Ends a child that was never released, and closes its descriptors. */
void child_fini(struct child *c);
