/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording below the memory limit of a control group: it begins with smaller tables, and drops
 * its caches before the limit is reached. Names are then read again, which takes time.
 */
#pragma once

#include "base/types.h"
#include "capture/programs/node_programs.h"
#include "sandbox/workers.h"
#include "sym/symbolize.h"

struct memory_limit {
	u64 limit;        /* in bytes; 0: no limit, or a large one */
	u64 symbol_bytes; /* the present budget of symbols */
	u64 checked_ns;
	u64 nr_drops;
};

/* Reads the limit of this process; sets the budgets of symbols and of workers' results. */
void memory_limit_begin(struct memory_limit *m, struct symbolizer *s, struct workers *w);

/* The sizes of the unwinder's tables that the limit allows. */
struct tables_sizes memory_limit_tables(const struct memory_limit *m);

/* The size of the ring that the limit allows; 0: any. */
size_t memory_limit_ring_bytes(const struct memory_limit *m);

/*
 * How many bytes of records may be copied out of a ring before they are processed; 0: the default.
 */
size_t memory_limit_backlog_bytes(const struct memory_limit *m);

/* Drops caches if little room is left; call it at every turn. The first drop is a warning. */
void memory_limit_check(struct memory_limit *m, struct symbolizer *s);
