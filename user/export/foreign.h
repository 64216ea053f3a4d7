/* SPDX-License-Identifier: Apache-2.0 */
/* What pprof, OTLP and other tools' formats have in common with each other, but not with ours. */
#pragma once

#include "base/dict.h"
#include "base/str.h"
#include "profile/profile.h"

/* Units have other names there: "count", "nanoseconds". Both return the word itself if it is new.
 */
const char *unit_to_foreign(const char *unit);
const char *unit_from_foreign(const char *unit);

/* The event "cpu" counted in samples is "samples" in "count" there. */
bool type_is_cpu(const struct value_type *type);

/*
 * The type for a foreign one; `period_type` (may be "") names what samples were taken of. Added if
 * the profile has none of that name and unit.
 */
u32 type_from_foreign(struct profile *p, const char *name, const char *unit,
		      const char *period_type);

/*
 * The label by which pprof knows the samples of a comparison that were before: negative values. Our
 * own comment says it of a comparison with nothing, which has none.
 */
#define PPROF_BEFORE_KEY "pprof::base"
#define PPROF_BEFORE     "true"
#define PPROF_COMPARISON "comparison: what was before has the label " PPROF_BEFORE_KEY

/* OTLP's attribute of a profile whose type has a role in a comparison. */
#define OTLP_ROLE_KEY "sysflame.role"

/* Nanoseconds between two samples of a CPU, 0 if samples were not taken by time. */
u64 profile_period_ns(const struct profile *p);

/* What frame a foreign name stands for: `kind` by one of our words, if it is one, else a guess. */
frame_id frame_from_foreign(struct profile *p, const char *name, const char *module,
			    const char *kind, bool is_inlined, struct source_line source);

/*
 * "java/lang/Thread.run": async-profiler's Java names, of which it does not say in most formats
 * what they are; also "App$$Lambda/0x00007f00.run" and "App$$Lambda.0x00007f00.run".
 */
bool name_is_java(const char *text, size_t len);

/* A text of a file, no more of it than a name can have; the caller frees it. */
char *text_from_foreign(const u8 *at, size_t len);

/* The bytes of names that a file may give its frames: few of its own can give the same one often.
 */
#define FOREIGN_NAMES_MAX (256u << 20)

/* Indexes of the weights by (labels, node, type), zeros left out; the caller frees the array. */
u32 *weights_in_order(const struct profile *p, size_t *nr);

/* Texts with numbers, in the order in which they came; the first one is "" and has 0. */
struct texts {
	VEC(char *) all;
	struct dict by_hash;
};

void texts_init(struct texts *t);
void texts_fini(struct texts *t);
u32 texts_add(struct texts *t, const char *text);

/* Adds stacks that are given frame by frame; what a stack shares with the last one costs nothing.
 */
struct stack_adder {
	struct profile *p;
	VEC(frame_id) frames; /* from the root on; filled by the caller, emptied by stack_add */
	VEC(frame_id) last_frames;
	VEC(node_id) last_nodes;
	VEC(u64) sums; /* by type */
};

void stack_adder_init(struct stack_adder *a, struct profile *p);
void stack_adder_fini(struct stack_adder *a);

/* The node of `frames`. -EINVAL and a sentence if it is too deep. */
int stack_find(struct stack_adder *a, node_id *node, struct str *why);

/* -EINVAL and a sentence if the value is negative or too much. */
int stack_add(struct stack_adder *a, node_id node, labels_id labels, u32 type, s64 value,
	      struct str *why);
