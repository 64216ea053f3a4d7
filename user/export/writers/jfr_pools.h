/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants of a JFR recording: symbols, classes, methods, stacks, threads. Events refer to
 * them by key; key 0 means that the field is empty.
 */
#pragma once

#include "base/dict.h"
#include "export/interchange/external.h"
#include "export/writers/jfr_types.h"
#include "profile/profile.h"

struct jfr_class_entry {
	u32 name, package;
	u32 kind; /* as JFR_KIND_FIELD */
};

struct jfr_method_entry {
	u32 class, name, descriptor;
};

struct jfr_thread_entry {
	u32 key, pid, tid;
	u32 name, comm; /* symbols */
};

struct jfr_frame_entry {
	u32 method; /* 0: not added yet */
	enum jfr_frame_type type;
};

struct jfr_pools {
	const struct profile *p;
	struct texts symbols;
	VEC(struct jfr_class_entry) classes;
	VEC(struct jfr_method_entry) methods;
	VEC(struct jfr_thread_entry) threads;
	VEC(node_id) stacks;
	struct jfr_frame_entry *frames; /* by frame */
	u32 *stack_of;                  /* by node: key of the stack that ends there */
	u32 *thread_of;                 /* by label set: key + 1 */
	struct dict packages;           /* by symbol */
	struct dict class_of, method_of, thread_of_name, pairs, thread_keys;
};

void jfr_pools_init(struct jfr_pools *all, const struct profile *p);
void jfr_pools_fini(struct jfr_pools *all);

/* The keys of constants, which are added if they are missing. */
u32 jfr_stack(struct jfr_pools *all, node_id leaf);
u32 jfr_thread(struct jfr_pools *all, labels_id labels);

/* The class whose name a frame has. */
u32 jfr_class(struct jfr_pools *all, frame_id frame);

/* Appends the event that has all constants. */
void jfr_add_pools(struct jfr_pools *all, struct str *out);
