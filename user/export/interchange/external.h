/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units and names that the formats of other tools (pprof, OTLP, ..) have in common, and sysflame's
 * format has not.
 */
#pragma once

#include "base/dict.h"
#include "base/str.h"
#include "profile/profile.h"

/*
 * Translate units: sysflame's "samples" and "ns" are "count" and "nanoseconds" in other tools'
 * formats. Times in other units become ns, memory becomes bytes. Unknown units stay unchanged.
 * "count" becomes samples only if the type's name says so.
 */
const char *unit_to_external(const char *type, const char *unit);
const char *unit_from_external(const char *type, const char *unit);

/*
 * Returns the number of our units in one of theirs: 1,000,000 (ns) for "milliseconds", 1 for
 * unknown units.
 */
u64 unit_scale(const char *unit);
/* Converts a value to our unit. An overflow gives INT64_MAX or INT64_MIN, which stack_add refuses.
 */
s64 value_from_external(s64 value, u64 scale);

/*
 * Whether the type counts samples of the event "cpu". Other tools' formats have it as "samples" in
 * "count".
 */
bool type_is_cpu(const struct value_type *type);

/*
 * Our type for a type of another tool. It is added if the profile has no type of that name and
 * unit. `period_type` (may be "") names the sampled event.
 */
u32 type_from_external(struct profile *p, const char *name, const char *unit,
		       const char *period_type);

/*
 * In pprof, samples from before have negative values and this label. The comment marks a comparison
 * with nothing before, which has no such label.
 */
#define PPROF_BEFORE_KEY "pprof::base"
#define PPROF_BEFORE     "true"
#define PPROF_COMPARISON "comparison: what was before has the label " PPROF_BEFORE_KEY

/* The OTLP attribute of a profile whose type has a role in a comparison. */
#define OTLP_ROLE_KEY "sysflame.role"

/* Whether sysflame itself gives a resource of OTLP an attribute of that name. */
bool otlp_is_reserved(const char *key);

/* Nanoseconds between two samples of a CPU; 0 if samples were not taken by time. */
u64 profile_period_ns(const struct profile *p);

/*
 * Adds the time of a recording: the profile reaches from the earliest start to the latest end. If a
 * start is unknown (0), its duration is the longer of the two.
 */
void profile_add_span(struct profile *p, u64 start_wall_ns, u64 duration_ns);

/*
 * The frame for a foreign name. `kind` may be one of sysflame's words; otherwise the kind is
 * guessed.
 */
frame_id frame_from_external(struct profile *p, const char *name, const char *module,
			     const char *kind, bool is_inlined, struct source_line source);

/* Where a file names a library, and the memory that it was mapped to; [0, 0): not known. */
struct external_mapping {
	s64 filename; /* index of its text */
	u64 start, end, file_off;
};

/*
 * The name of an address without a symbol: "[lib.so]+0x1f", by the offset in the library's file,
 * and
 * "[unknown]" without a library. An address outside of the mapping is an offset. The caller frees
 * it.
 */
char *name_from_address(const char *module, const struct external_mapping *m, u64 address);

/* "[lib.so]+0x1f", or "[lib.so]" if the offset is NULL. The caller frees it. */
char *name_from_offset(const char *module, const u64 *offset);

/*
 * Whether a name is a Java method as async-profiler writes it, "java/lang/Thread.run"; most formats
 * do not mark such frames. Also "App$$Lambda/0x00007f00.run", "App$$Lambda.0x00007f00.run" and the
 * names of perf maps (profile/frames/java_form.h).
 */
bool name_is_java(const char *text, size_t len);

/* A text of a file, cut to the length of a name. The caller frees it. */
char *text_from_external(const u8 *at, size_t len);

/*
 * The limit for the names of a file's frames in bytes: a small file can repeat one long name often.
 */
#define EXTERNAL_NAMES_MAX (256u << 20)

/*
 * The indexes of all weights except zeros, sorted by (labels, node, type). The caller frees the
 * array.
 */
u32 *weights_in_order(const struct profile *p, size_t *nr);

#define OTLP_TRACE_BYTES 16
#define OTLP_SPAN_BYTES  8

/* The number of a trace or span from its hexadecimal digits; false if they are not `len` bytes. */
bool id_from_hex(const char *text, u8 *out, size_t len);

/* Its digits. The caller frees them. "" if all bytes are 0, which means none. */
char *id_to_hex(const u8 *id, size_t len);

/* A table of texts, numbered in the order of addition. Number 0 is "". */
struct texts {
	VEC(char *) all;
	struct dict by_hash;
};

void texts_init(struct texts *t);
void texts_fini(struct texts *t);
u32 texts_add(struct texts *t, const char *text);

/* Adds stacks frame by frame. The part that a stack shares with the previous one costs nothing. */
struct stack_adder {
	struct profile *p;
	VEC(frame_id) frames; /* from the root on; filled by the caller, emptied by stack_find */
	VEC(frame_id) last_frames;
	VEC(node_id) last_nodes;
	VEC(u64) sums; /* by type */
};

void stack_adder_init(struct stack_adder *a, struct profile *p);
void stack_adder_fini(struct stack_adder *a);

/* Finds the node of `frames`. -EINVAL and a sentence if the stack is too deep. */
int stack_find(struct stack_adder *a, node_id *node, struct str *why);

/* Adds a value. -EINVAL and a sentence if it is negative or the sum is too large. */
int stack_add(struct stack_adder *a, node_id node, labels_id labels, u32 type, s64 value,
	      struct str *why);
