/* SPDX-License-Identifier: Apache-2.0 */
/* Of many names the few that resemble one that was looked for in vain. */
#pragma once

#include "base/types.h"

#define NEAR_MAX 8

struct near {
	const char *wanted;    /* the caller's */
	size_t max;            /* how many names are kept, at most NEAR_MAX */
	char *names[NEAR_MAX]; /* best first, then NULL; owned */
	u32 distance[NEAR_MAX];
};

/* Keeps a copy of `name` if it is one of the nearest: holds what is wanted, or differs in few
 * letters. */
void near_consider(struct near *n, const char *name);
void near_fini(struct near *n);
