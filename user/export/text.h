/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as text for a terminal: safe to print, lines cut to a width. */
#pragma once

#include <stdio.h>

#include "profile/tree.h"

#define TEXT_ANY_WIDTH 100000

/* The `nr` hottest methods of one type by self weight, under a line of headings. */
void text_top(const struct profile *p, u32 type, const struct tree *t, size_t nr, size_t width,
	      FILE *out);

/*
 * The call tree. Branches below `min_percent` of the total are left out, and each line that stands
 * for some of them says how many; a frame that is all its caller does stands below it, not deeper.
 */
void text_tree(const struct profile *p, u32 type, const struct tree *t, double min_percent,
	       size_t width, FILE *out);

/* Which methods of a comparison stand first, and which are there. */
enum text_diff_mode {
	TEXT_DIFF_CHANGED, /* by change of self; without what may be chance */
	TEXT_DIFF_BEFORE,  /* by self before; what may be chance is called so */
	TEXT_DIFF_AFTER,   /* by self after */
};

/* Of a comparison (profile/diff.h): `nr` methods with their share, or weight, before and after. */
void text_diff(const struct profile *p, enum text_diff_mode mode, size_t nr, size_t width,
	       FILE *out);
