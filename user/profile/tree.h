/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value type of a profile as a tree that people can read. All tiers of a Java method under one
 * caller are one node. Siblings are sorted by weight.
 */
#pragma once

#include "profile/profile.h"

struct tree_node {
	frame_id frame;          /* for merged tiers, the one with the largest part of the total */
	u32 parent;              /* smaller than the node's own number */
	u32 first, next;         /* first child, next sibling by total, then name; 0 for none */
	u64 self, total;         /* nodes without any total are not children of their parent */
	u64 self_before, before; /* self and total of a comparison's other side, else 0 */
};

#define TREE_OF_BOTH UINT32_MAX

struct tree {
	VEC(struct tree_node) nodes; /* [0] is the root */
	u32 type;                    /* its value type; TREE_OF_BOTH for a comparison */
};

/*
 * Builds the tree. Equal profiles give equal trees in whatever order their stacks were added. A
 * stack has the same number in the trees of all types of a profile and in that of its comparison.
 */
void tree_make(const struct profile *p, u32 type, struct tree *out);

/*
 * Builds the tree of a comparison with both sides; self and total are those after. Siblings are
 * sorted by the sum of both sides, with the weight before times `scale`.
 */
void tree_make_diff(const struct profile *p, double scale, struct tree *out);
void tree_fini(struct tree *t);

#define auto_tree __attribute__((cleanup(tree_fini)))

/* The cost of a method, over all nodes of its name. */
struct hot_method {
	frame_id frame;  /* the frame of that name with the largest self weight */
	frame_id leaf;   /* of waits: the frame that waited in most of `self`; else `frame` */
	bool is_last;    /* waits without a frame of the application, such as idle threads */
	u64 self, total; /* `total` counts a stack once, however often the method is on it */
};

struct hot_methods {
	VEC(struct hot_method) all; /* is_last at the end; by self, then total, then name */
};

void hot_methods_make(const struct profile *p, const struct tree *t, struct hot_methods *out);

/*
 * As hot_methods_make, for waits: `self` belongs to the application's frame that is nearest to the
 * leaf. The leaves are a few functions of the kernel or the JDK, and classes of locks.
 */
void hot_waits_make(const struct profile *p, const struct tree *t, struct hot_methods *out);

/* Whether the type's weights are times of waits. */
bool hot_is_wait(const struct value_type *type);
void hot_methods_fini(struct hot_methods *h);

#define auto_hot_methods __attribute__((cleanup(hot_methods_fini)))
