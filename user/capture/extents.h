/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands out stretches of a table that BPF programs read meanwhile: what is given back rests for a
 * while before it is used again, so that a program that still reads it finds the old content.
 */
#pragma once

#include "base/vec.h"

#define EXTENTS_REST_NS 100000000ull /* no BPF program runs that long; see UNWIND_INHERITED_NS */

struct extent {
	u32 first, nr;
	u64 freed_ns; /* CLOCK_MONOTONIC; 0 once it has rested */
};

struct extents {
	VEC(struct extent) free; /* those that have rested are sorted, disjoint and come first */
	u32 size, nr_used;
};

void extents_init(struct extents *e, u32 size);
void extents_fini(struct extents *e);

/* -ENOSPC if no stretch is long enough; `now_ns` of CLOCK_MONOTONIC. */
int extents_alloc(struct extents *e, u32 nr, u64 now_ns, u32 *first);
void extents_free(struct extents *e, u32 first, u32 nr, u64 now_ns);
