/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a JFR recording, of which jfr.c writes a chunk: the types, which are the numbers
 * that stand before events and constants; the constants; the events.
 */
#pragma once

#include <stdio.h>

#include "base/dict.h"
#include "base/str.h"
#include "export/interchange/external.h"
#include "profile/profile.h"

/* jfr_types.c: the types. */

/* The first two are fixed. All others are defined by the recording's own description. */
enum jfr_type {
	JFR_METADATA = 0,
	JFR_CHECKPOINT = 1,

	JFR_BOOLEAN = 4,
	JFR_INT,
	JFR_LONG,
	JFR_DOUBLE,
	JFR_STRING,
	JFR_CLASS,
	JFR_THREAD,
	JFR_CLASS_LOADER,
	JFR_FRAME_TYPE,
	JFR_THREAD_STATE,
	JFR_STACK_TRACE,
	JFR_STACK_FRAME,
	JFR_METHOD,
	JFR_PACKAGE,
	JFR_SYMBOL,

	JFR_EVENTS = 100, /* types above are events */
	JFR_EXECUTION,
	JFR_CPU_TIME,
	JFR_NATIVE,
	JFR_WALL,
	JFR_ALLOCATION,
	JFR_LIVE,
	JFR_MALLOC,
	JFR_MONITOR,
	JFR_PARK,
	JFR_NATIVE_LOCK,
	JFR_SAMPLE, /* these three are ours (export/interchange/jfr.h) */
	JFR_NOTE,
	JFR_PROFILE,

	JFR_ANNOTATIONS = 200, /* types above are annotations */
	JFR_LABEL,
	JFR_CATEGORY,
	JFR_CONTENT_TYPE,
	JFR_TIMESTAMP,
	JFR_TIMESPAN,
	JFR_DATA_AMOUNT,
	JFR_ADDRESS,
	JFR_UNSIGNED,
};

/* Types of frames. async-profiler's converter knows these numbers. */
enum jfr_frame_type {
	JFR_FRAME_INTERPRETED,
	JFR_FRAME_COMPILED,
	JFR_FRAME_INLINED,
	JFR_FRAME_NATIVE,
	JFR_FRAME_CPP,
	JFR_FRAME_KERNEL,
	JFR_FRAME_C1,
};

enum jfr_thread_state {
	JFR_STATE_DEFAULT,
	JFR_STATE_RUNNABLE,
	JFR_STATE_SLEEPING,
};

/* Appends the event that describes all types. `has_labels`: events of samples have
 * JFR_LABELS_FIELD. */
void jfr_add_types(struct str *out, bool has_labels);

/*
 * jfr_pools.c: the constants, which are symbols, classes, methods, stacks and threads. Events refer
 * to them by key; key 0 means that the field is empty.
 */

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
	u32 *thread_of, *labels_of;     /* by label set: key + 1 */
	bool has_labels;                /* samples have more labels than process and thread */
	struct dict packages;           /* by symbol */
	struct dict class_of, method_of, thread_of_name, pairs, thread_keys;
};

void jfr_pools_init(struct jfr_pools *all, const struct profile *p);
void jfr_pools_fini(struct jfr_pools *all);

/* The keys of constants, which are added if they are missing. */
u32 jfr_stack(struct jfr_pools *all, node_id leaf);
u32 jfr_thread(struct jfr_pools *all, labels_id labels);

/* The symbol of the labels besides process and thread (export/interchange/label_frame.h). */
u32 jfr_labels(struct jfr_pools *all, labels_id labels);

/* The class whose name a frame has. */
u32 jfr_class(struct jfr_pools *all, frame_id frame);

/* Appends the event that has all constants. */
void jfr_add_pools(struct jfr_pools *all, struct str *out);

/*
 * jfr_events.c: the events. The weights of a profile are sums; each becomes as many events as it
 * has samples.
 */

/*
 * Writes all events, or only counts their bytes if `out` is NULL. Adds their constants to `pools`.
 * -E2BIG if there would be too many.
 */
int jfr_write_events(const struct profile *p, struct jfr_pools *pools, FILE *out, u64 *bytes);
