/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk of a JFR recording: types that it describes itself, pools of constants, events. Values
 * are unpacked on demand. A damaged value reads as missing.
 */
#pragma once

#include "base/dict.h"
#include "base/str.h"
#include "base/vec.h"
#include "export/format/varint.h"

#define JFR_HEADER    68
#define JFR_CHUNK_MAX (1u << 30)
#define JFR_DEPTH_MAX 32

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
	bool is_constant, is_array;
};

struct jfr_class {
	u64 id;
	const char *name;
	enum jfr_plain plain;
	VEC(struct jfr_field) fields;
	struct dict constants; /* key -> offset in the chunk */
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
	const struct jfr_class *class;
	bool is_constant, is_array;
	struct cursor at;
};

/*
 * The length of the chunk whose first JFR_HEADER bytes are given. -EINVAL and a sentence if they
 * are invalid.
 */
int jfr_chunk_len(const u8 *header, u64 *len, struct str *why);

/*
 * Reads types and constants. The caller keeps the bytes. -EINVAL and a sentence if they are
 * damaged.
 */
int jfr_chunk_open(const u8 *at, size_t len, struct jfr_chunk *out, struct str *why);
void jfr_chunk_close(struct jfr_chunk *c);

/* The next event from `offset` on, which starts as JFR_HEADER. Returns false at the end. */
bool jfr_next_event(const struct jfr_chunk *c, u64 *offset, struct jfr_value *out);

/* The field `name` of a struct. Returns false if it is missing. */
bool jfr_find(struct jfr_chunk *c, const struct jfr_value *v, const char *name,
	      struct jfr_value *out);

/* The value of a field that is_constant. Returns false if the constant is missing. */
bool jfr_constant(const struct jfr_chunk *c, const struct jfr_value *v, struct jfr_value *out);

/* Whether a constant of that class has that text. */
bool jfr_has_constant(struct jfr_chunk *c, const char *class_name, const char *text);

/* The elements of an array: returns their number; `out` is the first one. */
u64 jfr_elements(const struct jfr_value *v, struct jfr_value *out);
bool jfr_skip(struct jfr_chunk *c, struct jfr_value *v);

/* A number or the key of a constant; 0 for other values. */
u64 jfr_number(const struct jfr_value *v);

/* Appends a text, a constant's text, or the text of a struct that has one. */
bool jfr_text(struct jfr_chunk *c, const struct jfr_value *v, struct str *out);
