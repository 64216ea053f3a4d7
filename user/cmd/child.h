/* SPDX-License-Identifier: Apache-2.0 */
/* A command that is profiled from its first instruction: started, held, released. */
#pragma once

#include "base/types.h"

struct child {
	pid_t pid;
	int pidfd;      /* readable when it has ended */
	int release_fd; /* closed without a byte: the child gives up; 0 when released */
};

/* Forks a child that waits before it executes argv (NULL-terminated). */
int child_hold(char **argv, struct child *out);

/* Lets it run; a negative errno if the command cannot be executed. */
int child_release(struct child *c);

/* Waits for its end; its exit status as a shell gives it: 128 + N for a signal. */
int child_wait(struct child *c);

/* Ends a child that was never released, closes what is open. */
void child_fini(struct child *c);
