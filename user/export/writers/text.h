/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a profile as text for a terminal: safe to print, lines cut to a width. */
#pragma once

#include <stdio.h>

#include "export/interchange/named_label.h"
#include "profile/tree.h"

#define TEXT_ANY_WIDTH 100000

/* Prints the `nr` hottest methods of one type by self weight, under a line of headings. */
void text_top(const struct profile *p, u32 type, const struct tree *t, size_t nr, size_t width,
	      FILE *out);

/*
 * Prints the call tree. Skips branches below `min_percent` of the total; one line counts them. A
 * frame that has the whole weight of its caller is not indented further.
 */
void text_tree(const struct profile *p, u32 type, const struct tree *t, double min_percent,
	       size_t width, FILE *out);

/* The order of a comparison's methods, and which ones are listed. */
enum text_diff_mode {
	TEXT_DIFF_CHANGED, /* by change of self; omits changes that may be chance */
	TEXT_DIFF_BEFORE,  /* by self before; marks changes that may be chance */
	TEXT_DIFF_AFTER,   /* by self after */
};

/*
 * Prints `nr` methods of a comparison (profile/diff.h) with their shares or weights before and
 * after.
 */
void text_diff(const struct profile *p, enum text_diff_mode mode, size_t nr, size_t width,
	       FILE *out);

/*
 * Prints `nr` values of a label, such as routes, with their requests: traces, the weights of their
 * samples, and the median and 99th percentile of the time from the first to the last sample of a
 * trace. That is a lower bound of the request's duration, in steps of profile.slot_ns. The slowest
 * come first. `name` is a heading; `by` is NULL for one line.
 */
void text_requests(const struct profile *p, const char *name, const struct named_label *by,
		   size_t nr, size_t width, FILE *out);
