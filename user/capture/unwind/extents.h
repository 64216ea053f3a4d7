/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates extents of a table that BPF programs read at the same time. A freed extent rests for a
 * while before it is used again. A program that still reads it thus finds the old content.
 */
#pragma once

#include "base/vec.h"

/* Longer than any BPF program runs; see UNWIND_INHERITED_NS. */
#define EXTENTS_REST_NS 100000000ull

struct extent {
	u32 first, nr;
	u64 freed_ns; /* CLOCK_MONOTONIC; 0 once it has rested */
};

struct extents {
	VEC(struct extent) free; /* rested extents come first, sorted and disjoint */
	u32 size, nr_used;
};

void extents_init(struct extents *e, u32 size);
void extents_fini(struct extents *e);

/* -ENOSPC if no extent is long enough. `now_ns` is CLOCK_MONOTONIC. */
int extents_alloc(struct extents *e, u32 nr, u64 now_ns, u32 *first);
void extents_free(struct extents *e, u32 first, u32 nr, u64 now_ns);
