/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the names that are most similar to a name that was not found. */
#pragma once

#include "base/types.h"

#define NEAR_MAX 8

struct near {
	const char *wanted;    /* owned by the caller */
	size_t max;            /* how many names to keep, at most NEAR_MAX */
	char *names[NEAR_MAX]; /* best first, then NULL; owned */
	u32 distance[NEAR_MAX];
};

/*
 * Keeps a copy of `name` if it is one of the nearest: it contains `wanted` or differs from it in a
 * few letters.
 */
void near_consider(struct near *n, const char *name);
void near_fini(struct near *n);
