/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of other tools that sysflame has no field for, as one text: "KEY=TEXT" and "KEY:NUMBER
 * UNIT", sorted, joined by ", ". Separators inside keys and texts are written as %2C and the like.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

#define TAGS_MAX       32          /* tags of a sample */
#define TAGS_MAX_BYTES (64u << 10) /* bytes of their text */

struct tags {
	VEC(char *) all;
};

void tags_add_text(struct tags *t, const char *key, const char *text);
void tags_add_number(struct tags *t, const char *key, s64 number, const char *unit);

/* Returns the text, which the caller frees; "" without tags. Empties *t. */
char *tags_take(struct tags *t);

struct tag {
	char *key, *text, *unit; /* owned, never NULL */
	s64 number;
	bool is_number;
};

/* Reads the next tag of a text. Returns false at the end. Moves *at past the tag. */
bool tag_next(const char **at, struct tag *out);
void tag_fini(struct tag *t);
