/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: a tree of stacks with values, labels and notes. Exporters only read it. */
#pragma once

#include "base/dict.h"
#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"
#include "profile/frames/frame.h"
#include "profile/labels.h"

/* The role of a value type in a comparison (profile/diff.h). */
enum value_role {
	VALUE_NONE,
	VALUE_AFTER,
	VALUE_BEFORE,
	VALUE_NR_AFTER, /* numbers of samples behind weights that are not samples */
	VALUE_NR_BEFORE,
	NR_VALUE_ROLES,
};

/* A kind of value. */
struct value_type {
	char *name; /* "cpu", "alloc", ... */
	char *unit; /* "samples", "bytes", "ns" */
	enum value_role role;
};

typedef u32 labels_id;
typedef u32 node_id;

/* A node of the tree. Node 0 is the root. A parent's number is smaller than its child's. */
struct profile_node {
	node_id parent;
	frame_id frame; /* 0 and meaningless for the root */
};

/* The weight of one stack for one label set and one value type. */
struct weight {
	node_id node;
	labels_id labels;
	u32 type; /* index into the value types */
	u64 value;
};

/* A counted statement about the whole profile, for footers and summaries. */
struct note {
	char *key;  /* "samples", "lost", "truncated", ... */
	char *text; /* the sentence for the number */
	u64 value;
};

/* Part of a method's total that no stack shows, since stacks that had the method were shortened. */
struct hidden_total {
	char *name, *module;
	enum frame_kind kind;
	u32 type; /* index into the value types */
	u64 value;
};

struct profile {
	struct frames *frames;
	bool shares_frames; /* see profile_new_sharing */
	VEC(struct value_type) types;
	VEC(struct profile_node) nodes;
	VEC(struct labels) labels;  /* texts owned by the profile, never NULL */
	VEC(struct weight) weights; /* at most one per (node, labels, type) */
	VEC(struct note) notes;
	VEC(struct hidden_total) hidden; /* see profile_hide */
	struct dict hidden_of; /* hash of name and type -> index + 1; equal ones probe on */
	u64 start_wall_ns, duration_ns; /* start and length of the recording; 0 if unknown */
	/* of a profile from slices: the time that the slices cover; 0 if unknown */
	u64 covered_ns;
	u64 slot_ns;         /* width of a time slot; 0 if the profile does not keep time */
	double rate_hz;      /* samples per second and CPU; 0 if not sampled by time */
	char *host, *target; /* never NULL, may be "" */
	char *node_labels; /* KEY=VALUE,.. of the node; never NULL, may be ""; not in all formats */
	char *title;       /* for people; never NULL; "" to make one from the other fields */
	char *view;        /* initial view of the page, as after the # of its address; never NULL */
	size_t nodes_max; /* profile_child adds no more nodes; a reader's bound on a foreign file */
	bool is_full;     /* a node was left out because of nodes_max */
	struct profile_index *index;
};

/*
 * Cuts the next KEY=VALUE off a copy of node_labels, which it changes. Returns false at the end.
 */
bool node_labels_next(char **rest, char **key, char **value);

struct profile *profile_new(void);

/* A profile with frames of a table that others use, too. The table must outlive it. */
struct profile *profile_new_sharing(struct frames *frames);

/* Gives a profile with a shared table of frames a table of its own, with its nodes' frames. */
void profile_own_frames(struct profile *p);
void profile_free(struct profile *p);

static inline void auto_profile_run(struct profile **p)
{
	profile_free(*p);
}
#define auto_profile __attribute__((cleanup(auto_profile_run)))

/* Returns the type's index. */
u32 profile_add_type(struct profile *p, const char *name, const char *unit);

/* Returns the index of the type with that name and unit. Adds it if missing. */
u32 profile_find_type(struct profile *p, const char *name, const char *unit);

/* Whether `event`, "NAME" or "NAME/UNIT" as users write it, means this type. */
bool value_type_is(const struct value_type *t, const char *event);

/* Appends "NAME/UNIT, NAME/UNIT", or "none" if the profile has no type. */
void profile_name_types(const struct profile *p, struct str *out);

/* Makes type `index` the first one; the others keep their order. */
void profile_move_type_first(struct profile *p, u32 index);

/* Removes a type with its weights; the types after it move up. */
void profile_drop_type(struct profile *p, u32 index);
labels_id profile_intern_labels(struct profile *p, const struct labels *labels);

/* The child of `parent` (0: the root) with that frame, added if missing; `parent` if p is full. */
node_id profile_child(struct profile *p, node_id parent, frame_id frame);

/*
 * The only frame of a sample without a stack, and of a weight whose frames were all removed by
 * transforms. Thus every weight has a frame in every format.
 */
#define NO_STACK "(no stack)"
node_id profile_no_stack(struct profile *p);

/* Adds a weight to the stack that ends in `leaf`. A weight at the root goes to NO_STACK. */
void profile_add(struct profile *p, node_id leaf, labels_id labels, u32 type, u64 value);

/* The memory that the profile takes, without the texts of labels and without shared frames. */
size_t profile_bytes(const struct profile *p);

/* Removes weights and notes; stacks, labels and types stay. */
void profile_empty(struct profile *p);

/* Gives the profile new nodes: at[n] for the weights of node n, which NODE_NONE drops. */
struct node_list {
	VEC(struct profile_node) all; /* [0] is the root */
};
#define NODE_NONE UINT32_MAX
void profile_move(struct profile *p, struct node_list *nodes, const node_id *at);

/* Keeps the weights of these label sets only. */
typedef bool (*labels_keep_fn)(const struct labels *labels, const void *ctx);
void profile_keep_labels(struct profile *p, labels_keep_fn keeps, const void *ctx);

/* Sets the program of all label sets to 0; weights that become equal add up. */
void profile_forget_programs(struct profile *p);

/* Lets `change` give weights another node or other labels; weights that become equal add up. */
typedef void (*weight_fn)(struct weight *w, void *ctx);
void profile_change_weights(struct profile *p, weight_fn change, void *ctx);

/*
 * Promises that no weight so far gets more: profile_add does not search among them any more, which
 * makes it faster for very many weights. profile_open_weights takes the promise back.
 */
void profile_seal_weights(struct profile *p);
void profile_open_weights(struct profile *p);

/* Exchanges the stacks of two profiles: frames, types, nodes, labels, weights and hidden totals. */
void profile_swap_stacks(struct profile *a, struct profile *b);

/*
 * Adds to the total of a method what its stacks do not show any more. Equal names are one method,
 * as in lists of methods. Whoever leaves out or changes stacks calls profile_forget_hidden.
 */
void profile_hide(struct profile *p, const struct frame *f, u32 type, u64 value);
void profile_forget_hidden(struct profile *p);

/* Prefix of the keys of notes that the page shows on a line of their own. */
#define NOTE_INCOMPLETE "incomplete-"

/* Sets or replaces the note `key`. */
void profile_note(struct profile *p, const char *key, const char *text, u64 value);
const struct note *profile_find_note(const struct profile *p, const char *key);

/* The sum of all weights of a type. */
u64 profile_total(const struct profile *p, u32 type);
