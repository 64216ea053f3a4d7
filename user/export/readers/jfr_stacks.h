/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and classes of a JFR recording as those of a profile. Private to read_jfr.c. */
#pragma once

#include "export/interchange/external.h"
#include "export/readers/jfr_chunk.h"

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
