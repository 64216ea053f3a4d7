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

/*
 * Of a comparison (profile/diff.h): the `nr` methods whose share, or weight, changed most, beyond
 * chance.
 */
void text_diff(const struct profile *p, size_t nr, size_t width, FILE *out);
