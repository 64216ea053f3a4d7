/* SPDX-License-Identifier: Apache-2.0 */
/* Merges several files: their stacks, and the facts about their recordings. */
#pragma once

#include "base/str.h"
#include "profile/names.h"
#include "profile/profile.h"

/* The recording facts of a profile from before a file is read into it. */
struct merge {
	typeof(((struct profile *)0)->notes) notes;
	u64 start_wall_ns, duration_ns;
	double rate_hz;
	u64 nr_cpu; /* number of samples of CPU */
};

/* Moves the recording facts of `p` to `m`; the reader then finds a profile without such facts. */
void merge_begin(struct profile *p, struct merge *m);

/*
 * Merges the facts of `m` back. Numbers of notes are added. The time span reaches from the earliest
 * start to the latest end; if a start is unknown, it is the longer of the two. The rate is unknown
 * if samples of CPU were taken at different rates. Frees the contents of `m`.
 */
void merge_end(struct profile *p, struct merge *m);

/*
 * Adds a separately read file to `p`, which keeps time. Slots count from the earlier start and get
 * the width of those of `p`. Returns -EINVAL and a sentence if the weights add up to too much; then
 * only profile_free may be called for both.
 */
int merge_timed(struct profile *p, struct profile *file, struct str *why);

/* Changes the labels of a file; texts that it sets must stay valid until merge_labelled returns. */
typedef void (*merge_label_fn)(struct labels *labels, void *ctx);

/*
 * Adds the stacks of a separately read file alone, with changed labels (`label` may be NULL) and
 * without time. `names` leads from the frames of the file to those of `p`; NULL: they stay as they
 * are. The caller checks that the sums fit.
 */
void merge_stacks(struct profile *p, const struct profile *file, struct naming *names,
		  merge_label_fn label, void *ctx);

/*
 * Moves the slots of `p` to its merged start. `start_wall_ns` is the start that they counted from.
 */
void merge_shift(struct profile *p, u64 start_wall_ns);
