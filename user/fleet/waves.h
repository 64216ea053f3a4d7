/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes take part, and when: one, then 1 %, then the rest. */
#pragma once

#include "base/types.h"
#include "fleet/limits.h"

#define WAVES_MAX 3

struct waves {
	u32 to_ppb[WAVES_MAX]; /* a wave has the coins from that of the earlier one to this */
	u32 nr_nodes[WAVES_MAX];
	u32 nr;
};

/* Sorts coins of nodes. */
void waves_sort(u32 *coins, size_t nr);

/* `coins` of all nodes that match, sorted; exactly `nr_chosen` of them take part. */
void waves_plan(const u32 *coins, u32 nr, u32 nr_chosen, bool in_waves, struct waves *out);

/* Nodes of each wave; returns the number of waves. */
u32 waves_sizes(u32 nr_chosen, bool in_waves, u32 sizes[WAVES_MAX]);
