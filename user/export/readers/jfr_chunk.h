/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk of a JFR recording: types that it describes itself, pools of constants, events. Values
 * are unpacked on demand. A damaged value reads as missing. jfr_stacks.c makes nodes of a profile
 * of the chunk's stacks.
 */
#pragma once

#include "base/dict.h"
#include "base/str.h"
#include "base/vec.h"
#include "export/format/varint.h"
#include "export/interchange/external.h"

#define JFR_HEADER      68
#define JFR_CHUNK_MAX   (1u << 30)
#define JFR_DEPTH_MAX   32
#define JFR_NUMBERS_MAX 8

/* The encoding of a value without fields. */
enum jfr_plain {
	JFR_STRUCT,
	JFR_BYTE,
	JFR_NUMBER,
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_TEXT,
};

struct jfr_field {
	const char *name;
	u64 class_id;
	struct jfr_class *class; /* NULL if the recording does not describe it */
	bool is_constant, is_array;
	u8 wanted; /* index of the field in the class's wanted names, or JFR_NOT_WANTED */
};

#define JFR_NOT_WANTED UINT8_MAX

struct jfr_class {
	u64 id;
	const char *name;
	enum jfr_plain plain;
	VEC(struct jfr_field) fields;
	struct dict constants; /* key -> offset in the chunk */
	u32 nr_numbers;        /* number of numbers, if a value has nothing but numbers; else 0 */
	/* The names of the last jfr_find_all, and the index behind the last field that it found. */
	const char *const *wanted;
	size_t wanted_end;
	u8 mark; /* for the reader of events; 0 at first */
};

struct jfr_chunk {
	const u8 *at;
	size_t len;
	u64 start_ns, duration_ns, ticks_per_s;
	VEC(char *) texts; /* texts of the type description, owned */
	VEC(struct jfr_class) classes;
	struct dict class_by_id; /* class id -> index + 1 */
	u64 steps_left;          /* limits hostile types that nest without using bytes */
};

struct jfr_value {
	struct jfr_class *class;
	bool is_constant, is_array;
	struct cursor at;
};

/* The newest format. Minor versions keep the layout of a chunk. */
#define JFR_MAJOR 2
#define JFR_MINOR 1

/* The header of a chunk. */
struct jfr_header {
	u64 len;            /* 0: not known yet */
	u32 minor;          /* version */
	bool is_unfinished; /* a JVM writes it, or ended before it was complete */
};

/* Reads the first JFR_HEADER bytes of a chunk. -EINVAL and a sentence if they are invalid. */
int jfr_header_read(const u8 *at, struct jfr_header *out, struct str *why);

/*
 * Reads types and constants. The caller keeps the bytes. -EINVAL and a sentence if they are
 * damaged. `is_partial`: the bytes may end anywhere; those behind the last whole constants are left
 * out, because their names would be missing.
 */
int jfr_chunk_open(const u8 *at, size_t len, bool is_partial, struct jfr_chunk *out,
		   struct str *why);
void jfr_chunk_close(struct jfr_chunk *c);

/* The next event from `offset` on, which starts as JFR_HEADER. Returns false at the end. */
bool jfr_next_event(const struct jfr_chunk *c, u64 *offset, struct jfr_value *out);

/* The field `name` of a struct. Returns false if it is missing. */
bool jfr_find(struct jfr_chunk *c, const struct jfr_value *v, const char *name,
	      struct jfr_value *out);

/*
 * Finds `nr` fields in one pass: out[i] gets the field names[i], with the class NULL if it is
 * missing. A name may be NULL. It is fast if all values of a class are asked for the same array.
 */
void jfr_find_all(struct jfr_chunk *c, const struct jfr_value *v, const char *const *names, u8 nr,
		  struct jfr_value *out);

/*
 * Like jfr_find_all, for at most JFR_NUMBERS_MAX numbers or keys, which are 0 if missing, of an
 * element of an array. Moves `v` to the next element. Returns false if this one is damaged.
 */
bool jfr_take_numbers(struct jfr_chunk *c, struct jfr_value *v, const char *const *names, u8 nr,
		      u64 *out);

/* The value of a field that is_constant. Returns false if the constant is missing. */
bool jfr_constant(const struct jfr_chunk *c, const struct jfr_value *v, struct jfr_value *out);

/* Whether the chunk describes a class of that name. */
bool jfr_has_class(const struct jfr_chunk *c, const char *class_name);

/* Whether a constant of that class has that text. */
bool jfr_has_constant(struct jfr_chunk *c, const char *class_name, const char *text);

/* The elements of an array: returns their number; `out` is the first one. */
u64 jfr_elements(const struct jfr_value *v, struct jfr_value *out);
bool jfr_skip(struct jfr_chunk *c, struct jfr_value *v);

/* A number or the key of a constant; 0 for other values. */
u64 jfr_number(const struct jfr_value *v);

/* A double; 0 for other values and for one that is not finite. */
double jfr_double(const struct jfr_value *v);

/* Appends a text, a constant's text, or the text of a struct that has one. */
bool jfr_text(struct jfr_chunk *c, const struct jfr_value *v, struct str *out);

/* jfr_stacks.c: stacks and classes as those of a profile, for read_jfr.c. */

#define JFR_RECENT 1024

struct jfr_stacks {
	struct profile *p;
	struct str *why;
	struct stack_adder adder;
	struct jfr_chunk chunk;
	bool has_libraries; /* of this chunk: native frames have their library as class */
	bool is_partial;    /* its methods may be missing */
	bool is_own;        /* sysflame wrote this chunk */
	/*
	 * Of this chunk, by key: number + 1. Of stacks: the node << 1, and whether the stack was
	 * cut.
	 */
	struct dict stacks, methods, classes;
	/* A cache of `methods`, which is too large for the processor's: by the lowest bits of the
	 * key. */
	struct recent_method {
		u64 key, known;
	} recent[JFR_RECENT];
	u64 name_bytes;
	u64 nr_cut, nr_no_stack; /* events whose stack is cut or missing */
};

void jfr_stacks_init(struct jfr_stacks *s, struct profile *p, struct str *why);
void jfr_stacks_fini(struct jfr_stacks *s);

/* Opens a chunk, whose bytes the caller keeps, or forgets it. Fails like jfr_chunk_open. */
int jfr_stacks_open(struct jfr_stacks *s, const u8 *at, size_t len, bool is_partial,
		    struct str *why);
void jfr_stacks_close(struct jfr_stacks *s);

/*
 * Finds the node of the stack that a field refers to; a field without a class is missing. -EINVAL
 * and a sentence if the stack is damaged.
 */
int jfr_find_stack(struct jfr_stacks *s, const struct jfr_value *field, node_id *node);

/* Puts the class that a field refers to below the node. Fails like jfr_find_stack. */
int jfr_add_class(struct jfr_stacks *s, const struct jfr_value *field, node_id *node);

/* Appends the name of the class that a field refers to. */
void jfr_class_name(struct jfr_stacks *s, const struct jfr_value *field, struct str *out);

/* Appends the text of a field of a struct. Returns false if it is missing. */
bool jfr_field_text(struct jfr_stacks *s, const struct jfr_value *v, const char *field,
		    struct str *out);

/* -EINVAL and a sentence. */
int jfr_damaged(struct str *why, const char *what);
