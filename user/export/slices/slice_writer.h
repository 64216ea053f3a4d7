/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes the slices of continuous profiling (docs/slices-format.md). A book is a row of records
 * that share a dictionary of names, frames, tree nodes and label sets: a record has only
 * entries that are new in the book, and the weights of its slice.
 */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

struct slice_writer;

struct slice_writer *slice_writer_new(void);
void slice_writer_free(struct slice_writer *w);

/*
 * The memory of the book. Once it exceeds SLICE_BOOK_BYTES, the next slice begins a new book.
 */
#define SLICE_BOOK_BYTES (4u << 20)
size_t slice_writer_bytes(const struct slice_writer *w);

/* The number of nodes and label sets in the book. */
size_t slice_writer_nr(const struct slice_writer *w);

/*
 * The next record begins a new book. Call it after a record was lost. A book ends by itself with
 * the hour (UTC) and when its dictionary is large.
 */
void slice_writer_begin(struct slice_writer *w);

/*
 * Appends the record of a slice, whose stacks and labels are those of `p`, to `out`. Leaves out the
 * label `time`. *begins: the record begins a book. -EOVERFLOW if the stacks or weights are too
 * large for the format; nothing is appended then.
 */
int slice_writer_add(struct slice_writer *w, const struct profile *p, u64 begin_wall_ns,
		     u64 end_wall_ns, struct str *out, bool *begins);
