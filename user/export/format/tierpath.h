/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path to the current node while a page is read. In the page all tiers of a method are one
 * node. This assigns weights to one tier after another until each has its part. The sums by method
 * and tier are then right, and so are merged stacks. Which tier called which callee is unknown.
 */
#pragma once

#include "profile/profile.h"

#define NR_TIER_PARTS 3 /* interpreted, C1, inlined; C2 gets the rest */

struct tierpath_step {
	frame_id frame, c2;
	node_id node;            /* valid below nr_nodes */
	u64 ends[NR_TIER_PARTS]; /* of each part: the value of the path's `sum` at its end */
	u8 part;                 /* the current one; NR_TIER_PARTS: the rest, or no tiers */
	u64 first_end;           /* the first end of any part on the path up to this step */
};

struct tierpath {
	struct profile *p;
	VEC(struct tierpath_step) steps; /* [0] is the root */
	size_t nr_nodes;                 /* number of steps whose node is known */
	u64 sum;                         /* of the weights so far */
	size_t nodes_max; /* limit of the profile; methods are not divided above it */
};

/* Starts a path for `nr` nodes. It limits the number of nodes that tiers add. */
void tierpath_init(struct tierpath *path, struct profile *p, size_t nr);
void tierpath_fini(struct tierpath *path);

/*
 * Goes up until `depth` steps below the root are left. Returns false if a method has too little
 * weight for a part.
 */
bool tierpath_up(struct tierpath *path, size_t depth);
void tierpath_down(struct tierpath *path, frame_id frame);

/* Divides the method of the last step. Returns false if the parts are invalid. */
bool tierpath_divide(struct tierpath *path, const u64 parts[NR_TIER_PARTS]);

/* Adds a weight of the type that has tiers. */
void tierpath_add(struct tierpath *path, labels_id labels, u32 type, u64 value);

/* The node for weights of other types. */
node_id tierpath_node(struct tierpath *path);
