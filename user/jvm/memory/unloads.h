/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of classes that a JVM has unloaded. Private to user/jvm. HotSpot counts a class before
 * it frees its memory (ClassLoaderData::unload, then ClassLoaderDataGraph::purge, with every
 * collector). An object that a sample found on a stack is therefore still there while the count is
 * unchanged. A class that is merely found in memory may already be counted and about to be freed.
 */
#pragma once

#include "jvm/memory/vm_memory.h"

/*
 * The address of the count; 0 if the JVM keeps no counters (-XX:-UsePerfData) or has not made them
 * yet.
 */
u64 unloads_find(const struct vm_memory *j);

/* The count plus 1, as in samples; 0 if it cannot be read. */
u64 unloads_read(const struct vm_memory *j);

/*
 * A range of counts at which an object was on a stack and had its current name; both 0 if none is
 * known.
 */
struct era {
	u64 from, to;
};

/* False for an unknown count. */
static inline bool era_has(const struct era *e, u64 unloads)
{
	return unloads && e->from && e->from <= unloads && unloads <= e->to;
}

/* Extends the range: the object was on a stack at `unloads` and has the same name at `now`. */
static inline void era_extend(struct era *e, u64 unloads, u64 now)
{
	if (e->from && unloads > e->to && unloads <= now)
		e->to = unloads;
	else if (!e->from && unloads == now)
		e->from = e->to = now;
}
