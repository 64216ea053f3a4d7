/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many classes a JVM has unloaded: private to user/jvm. HotSpot counts a class before it gives
 * its memory back (ClassLoaderData::unload, then ClassLoaderDataGraph::purge, with every
 * collector). So what a sample found on a stack is still there while the count stands. A class that
 * is merely found in memory may be one that is counted already, and about to go.
 */
#pragma once

#include "jvm/jvm.h"

/* Where the count is; 0 if the JVM keeps no counters (-XX:-UsePerfData), or has not made them yet.
 */
u64 unloads_find(const struct jvm *j);

/* The count and 1 more, as samples have it; 0 if it cannot be read. */
u64 unloads_read(const struct jvm *j);

/* The counts at which something was on a stack and had the name it has; both 0: none is known. */
struct era {
	u64 from, to;
};

/* Of an unknown count nothing is known. */
static inline bool era_has(const struct era *e, u64 unloads)
{
	return unloads && e->from && e->from <= unloads && unloads <= e->to;
}

/* It was on a stack at `unloads`, and has the same name still at `now`. */
static inline void era_extend(struct era *e, u64 unloads, u64 now)
{
	if (e->from && unloads > e->to && unloads <= now)
		e->to = unloads;
	else if (!e->from && unloads == now)
		e->from = e->to = now;
}
