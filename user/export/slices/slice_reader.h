/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the slices of a time range out of a file of docs/slices-format.md. */
#pragma once

#include "base/str.h"
#include "export/slices/slice_record.h"
#include "profile/profile.h"

/* The slices and label sets wanted. A text that is NULL accepts all. */
struct slice_query {
	u64 from_wall_ns, to_wall_ns; /* slices that begin in [from, to) */
	const char *event;            /* only the values of this event: NAME, and NAME-samples */
	const char *service, *pod, *comm;
	const char *container; /* name or id */
	u32 pid;               /* 0: all */
	/* fail if a part of the file is damaged, instead of leaving it out */
	bool refuses_damage;
};

/*
 * Adds the slices to `p`: stacks, weights, labels and notes. Of chosen label sets the
 * notes are those of profile/selection.h. Start and duration cover the slices read.
 * Leaves damaged parts out and counts them in a note. Several files of one range are read one after
 * another. If the caller has set p->slot_ns, weights get the label `time`, and slots and start of
 * `p` count from q->from_wall_ns. Returns -EINVAL and a sentence if nothing can be read. Returns
 * -E2BIG or -EOVERFLOW and a sentence if the slices of all files are too large; `p` then holds a
 * part of them.
 */
int slices_read(const u8 *bytes, size_t len, const struct slice_query *q, struct profile *p,
		struct str *why);

/*
 * Removes the types whose weights add up to more than any format holds, and names them in notes.
 * Returns their number. Call it after the last file.
 */
u32 slices_drop_large_types(struct profile *p);

/*
 * As slices_read, but calls `before` ahead of each slice. `before` may remove the weights of
 * earlier slices from `p`. An error that it returns ends the reading.
 */
typedef int (*slice_fn)(const struct slice_head *head, void *ctx);
int slices_visit(const u8 *bytes, size_t len, const struct slice_query *q, struct profile *p,
		 slice_fn before, void *ctx, struct str *why);
