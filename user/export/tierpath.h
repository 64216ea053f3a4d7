/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path to a node that is read from a page, where the tiers of a method are one node. Weights
 * are given to the tiers in turn until each has its part: the sums by method and tier come out
 * right, and so do merged stacks; which tier called what is not known.
 */
#pragma once

#include "profile/profile.h"

#define NR_TIER_PARTS 3 /* interpreted, C1, inlined; C2 gets the rest */

struct tierpath_step {
	frame_id frame, c2;
	node_id node;            /* valid below nr_nodes */
	u64 ends[NR_TIER_PARTS]; /* of each part: the path's `sum` there */
	u8 part;                 /* that is filled; NR_TIER_PARTS: the rest, or no tiers at all */
	u64 first_end;           /* of any part on the path up to here */
};

struct tierpath {
	struct profile *p;
	VEC(struct tierpath_step) steps; /* [0] is the root */
	size_t nr_nodes;                 /* steps whose node is known */
	u64 sum;                         /* of the weights so far */
	size_t nodes_max;                /* of the profile; methods are whole from there on */
};

/* `nr` nodes are to be read; what tiers add to them is bounded by it. */
void tierpath_init(struct tierpath *path, struct profile *p, size_t nr);
void tierpath_fini(struct tierpath *path);

/* Goes up until `depth` steps below the root are left; false if a method lacks weight for a part.
 */
bool tierpath_up(struct tierpath *path, size_t depth);
void tierpath_down(struct tierpath *path, frame_id frame);

/* Divides the last step's method; false if the parts cannot be. */
bool tierpath_divide(struct tierpath *path, const u64 parts[NR_TIER_PARTS]);

/* Adds a weight of the type that tiers are parts of. */
void tierpath_add(struct tierpath *path, labels_id labels, u32 type, u64 value);

/* The node that weights of other types go to. */
node_id tierpath_node(struct tierpath *path);
