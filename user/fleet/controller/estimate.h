/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates a total over all nodes from a sample of nodes, with an interval, and scales the
 * sample's profile to all nodes. Each node was drawn with a chance that is known.
 */
#pragma once

#include "base/types.h"
#include "profile/profile.h"

/*
 * An interval is stated if ESTIMATE_NODES or more delivered. Of the chosen nodes at most
 * ESTIMATE_MISSING_PCT percent may be missing, and of all nodes that match the sizes of at most
 * ESTIMATE_UNKNOWN_PCT percent may be unknown.
 */
#define ESTIMATE_NODES       30
#define ESTIMATE_MISSING_PCT 2
#define ESTIMATE_UNKNOWN_PCT 10

/* Why there is no interval. */
enum estimate_fault {
	ESTIMATE_HAS_INTERVAL,
	ESTIMATE_FEW,     /* ESTIMATE_NODES */
	ESTIMATE_MISSING, /* ESTIMATE_MISSING_PCT */
	ESTIMATE_UNKNOWN, /* ESTIMATE_UNKNOWN_PCT: a few large nodes may be among them */
};

struct estimate {
	double total, low, high; /* without an interval: low == high == total */
	bool has_interval;
	enum estimate_fault fault;
	/*
	 * Bounds if nodes did not deliver: `least` takes their load as 0, `most` takes each as
	 * heavy as the heaviest node.
	 */
	double least, most;
};

/* Sizes of all nodes, which the census knows: CPUs in use. */
struct estimate_fleet {
	u32 nr, nr_unknown; /* an unknown size is taken for the mean */
	double size;        /* the sum of all */
	double mean;        /* of the known sizes, in the same unit as .. */
	double variance;    /* .. is this */
};

/* A node that delivered. */
struct estimate_node {
	u32 index; /* for the caller */
	double value, size;
	double chance; /* that it was chosen; above 0 */
	bool is_unknown;
};

struct estimate_sample {
	const struct estimate_node *nodes;
	u32 nr;
	double unknown_chance; /* of a node whose size is unknown */
	double missing; /* the number of nodes that the chosen nodes without a result stand for */
	u32 nr_missing;
};

/*
 * The chance of a node that was to be chosen with `chance`, if only ranks up to `reach` were asked
 * (fleet/wire/selector.h): waves are missing. 1: none are.
 */
double estimate_chance(double chance, double reach);

/*
 * By how much sums that are weighted by 1 / chance are too small, because nodes failed, or because
 * few or small ones were drawn: the size of all nodes, divided by the weighted size of the sample.
 */
double estimate_factor(const struct estimate_fleet *f, const struct estimate_sample *s);

/*
 * The ratio estimator (W. Cochran, "Sampling Techniques", 1977, chapter 6): the values' ratio to
 * the sizes in the sample, times the size of all nodes. The interval holds the true total with a
 * probability of 95 %: from the residuals, by Student's t with Satterthwaite's degrees of freedom.
 * Nodes of unknown size are few in the sample, and may lack the large ones. Their part of the
 * variance is therefore taken as at least that of as many nodes of known sizes.
 */
struct estimate estimate_total(const struct estimate_fleet *f, const struct estimate_sample *s);

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
