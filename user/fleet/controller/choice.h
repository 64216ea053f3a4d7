/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes of a census take part in a request, and in which wave. A node is chosen by its size,
 * the CPUs that the selected processes use there: few nodes often do most of the work, and an
 * estimate from nodes with equal chances is then chance itself (docs/fleet.md).
 */
#pragma once

#include "fleet/controller/estimate.h"
#include "fleet/controller/gather.h"

#define WAVES_MAX 4

/* A wave has the nodes with ranks from the end of the previous wave up to the end stored here. */
struct choice_wave {
	u32 to_rank, nr_nodes;
};

struct choice {
	const struct gather *census; /* borrowed */
	bool is_equal;               /* every node has the same chance */
	struct sampling sampling;
	struct estimate_fleet fleet; /* sizes of the nodes that match */
	size_t nr_chosen;
	struct choice_wave waves[WAVES_MAX];
	u32 nr_waves;
	bool is_cut; /* further waves were planned */
};

/*
 * Looks at the nodes that match. Chances are equal if `wants_equal`, or if more than half of the
 * nodes do not know their use of CPUs.
 */
void choice_take(struct choice *c, const struct gather *census, const u8 *seed, bool wants_equal);

/* How many nodes give `nr_samples` samples, if a busy CPU gives `per_cpu`. At least 1. */
double choice_nodes_of(const struct choice *c, double nr_samples, double per_cpu);

/*
 * How many nodes make an interval of +- `within` of the total, if a node's CPU use now differs from
 * the census by some 30 %. 0: the nodes' CPU use is not known well enough.
 */
double choice_nodes_within(const struct choice *c, double within);

/* Exactly `nr` nodes take part, all if there are not more. In waves: one, 1 %, then the rest. */
void choice_plan(struct choice *c, size_t nr, bool in_waves);

/* The first node has failed: another one records alone. */
void choice_add_canary(struct choice *c);

/* No wave starts after this one. */
void choice_end(struct choice *c, u32 wave);

/* The number of nodes in the waves up to this one. */
u32 choice_asked(const struct choice *c, u32 wave);

/*
 * The `reach` for estimate_chance: the rank up to which nodes were asked. 1 unless waves are
 * missing.
 */
double choice_reach(const struct choice *c);

/* Above 0, at most 1: the chance of a node by its busy_ppm, given the waves that were started. */
double choice_chance(const struct choice *c, u64 busy_ppm);

/* The size of a node with that busy_ppm in sums over the fleet. */
double choice_size(const struct choice *c, u64 busy_ppm);

#define CHOICE_FAILS 0.02 /* tolerated fraction of nodes that fail */

/* The probability that `failed` or more of `nr` nodes fail, if each does with CHOICE_FAILS. */
double choice_fail_chance(u32 failed, u32 nr);
