/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates a total over all nodes from a sample of them, with an interval, and scales a profile of
 * the sample to all nodes. The nodes were drawn at random, each at most once.
 */
#pragma once

#include "base/types.h"
#include "profile/profile.h"

#define ESTIMATE_NODES 30 /* with fewer there is no interval */

struct estimate {
	double total, low, high; /* low == high == total if all nodes are in the sample */
	bool has_interval;
};

/*
 * `values`: one for each node of the sample. The interval holds the true total with a probability
 * of 95 %. It comes from a bootstrap over nodes, studentized, because the load of nodes is skewed.
 * The same input gives the same interval.
 */
struct estimate estimate_total(const double *values, u32 nr, u32 nr_all);

/* The values of two groups of nodes. */
struct estimate_groups {
	const double *before, *after;
	u32 nr_before, nr_after;
};

/*
 * By how much the mean of a node is larger in the second group. The interval says how far chance in
 * the choice of nodes explains it: groups count as drawn from many more nodes of their kind, also
 * if all of them were asked. It takes ESTIMATE_NODES in each group.
 */
struct estimate estimate_difference(const struct estimate_groups *g);

#define SCALE_TYPES 32

/*
 * Multiplies all values but numbers of samples. The raw values are kept in a type of their own:
 * NAME-samples where the unit is samples, else NAME-raw; a type NAME-samples that exists stays as
 * it is. Rounding is carried from stack to stack, and in `carry` from profile to profile, so that
 * totals are right to one. Types beyond SCALE_TYPES begin anew with each profile.
 */
void profile_scale(struct profile *p, double factor, double carry[SCALE_TYPES]);
