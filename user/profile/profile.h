/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile: a tree of stacks with values, labels for who ran, and what was lost. Capture and
 * readers fill it; exporters only read it, so that everything from here on works without BPF.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/labels.h"

/* Of the value types of a comparison (profile/diff.h). */
enum value_role {
	ROLE_NONE,
	ROLE_AFTER,
	ROLE_BEFORE,
	ROLE_NR_AFTER, /* the samples of which the weights of the two come, if these are none */
	ROLE_NR_BEFORE,
	NR_ROLES,
};

/* What a value counts. */
struct value_type {
	char *name; /* "cpu", "alloc", ... */
	char *unit; /* "samples", "bytes", "ns" */
	enum value_role role;
};

typedef u32 labels_id;
typedef u32 node_id;

/* Node 0 is the root; a node's parent has the smaller number. */
struct node {
	node_id parent;
	frame_id frame; /* 0 and meaningless for the root */
};

/* One stack's weight for one label set and one value type. */
struct weight {
	node_id node;
	labels_id labels;
	u32 type; /* index into the value types */
	u64 value;
};

/* A sentence about the whole profile with its number, for footers and summaries. */
struct note {
	char *key;  /* "samples", "lost", "truncated", ... */
	char *text; /* what the number says */
	u64 value;
};

struct profile {
	struct frames *frames;
	VEC(struct value_type) types;
	VEC(struct node) nodes;
	VEC(struct labels) labels;  /* texts owned by the profile, never NULL */
	VEC(struct weight) weights; /* at most one per (node, labels, type) */
	VEC(struct note) notes;
	u64 start_wall_ns, duration_ns; /* when and how long; 0 if unknown */
	u64 slot_ns;                    /* what the label of time counts; 0: time is not kept */
	double rate_hz;                 /* per CPU; 0 if not sampled by time */
	char *host, *target;            /* never NULL, may be "" */
	char *title;                    /* for people; never NULL, "" for one made from the rest */
	char *view; /* what a page shows first, as behind the # of its address; never NULL */
	struct profile_index *index;
};

struct profile *profile_new(void);
void profile_free(struct profile *p);

/* Returns the type's index. */
u32 profile_add_type(struct profile *p, const char *name, const char *unit);

/* The index of the type of that name and unit, added if there is none. */
u32 profile_find_type(struct profile *p, const char *name, const char *unit);

/* Whether a person means it by "NAME" or "NAME/UNIT". */
bool value_type_is(const struct value_type *t, const char *event);

/* Appends "NAME/UNIT, NAME/UNIT", "none" if there is no type. */
void profile_name_types(const struct profile *p, struct str *out);

/* Makes type `index` the first one; the others keep their order. */
void profile_move_type_first(struct profile *p, u32 index);
labels_id profile_intern_labels(struct profile *p, const struct labels *labels);

/* The child of `parent` (0: the root) with that frame, made if it is not there. */
node_id profile_child(struct profile *p, node_id parent, frame_id frame);

/*
 * The only frame of what has none: of weights that are left when transforms have taken all frames
 * of a stack, and of samples without a stack. So every weight has a frame in every format.
 */
#define NO_STACK "(no stack)"
node_id profile_no_stack(struct profile *p);

/* Adds a weight to the stack that ends in `leaf`; at the root it goes to NO_STACK. */
void profile_add(struct profile *p, node_id leaf, labels_id labels, u32 type, u64 value);

/*
 * Gives the profile other nodes, in which `at` says, by node, where its weights are from now on;
 * NODE_NONE drops them.
 */
struct node_list {
	VEC(struct node) all; /* [0] is the root */
};
#define NODE_NONE UINT32_MAX
void profile_move(struct profile *p, struct node_list *nodes, const node_id *at);

/* Each gets the other one's stacks: frames, types, nodes, labels and weights. */
void profile_swap_stacks(struct profile *a, struct profile *b);

/* Sets or replaces the note `key`. */
void profile_note(struct profile *p, const char *key, const char *text, u64 value);
const struct note *profile_find_note(const struct profile *p, const char *key);

/* The sum of all weights of a type. */
u64 profile_total(const struct profile *p, u32 type);
