/* SPDX-License-Identifier: Apache-2.0 */
/* What several files in one profile say of their recordings, together. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/* What the profile said before the file that is being read. */
struct merge {
	typeof(((struct profile *)0)->notes) notes;
	u64 start_wall_ns, duration_ns;
	double rate_hz;
	u64 nr_cpu; /* samples of CPU */
};

/* Sets it aside, so that a reader finds a profile that says nothing of a recording. */
void merge_begin(struct profile *p, struct merge *m);

/*
 * Puts both together: the numbers of notes are added up; the time is that from the earliest start
 * to the latest end, or the longer one if a start is not known; the rate is not known if samples of
 * CPU were taken at different ones. Frees what `m` holds.
 */
void merge_end(struct profile *p, struct merge *m);

/*
 * Adds a file that was read apart to one that keeps time: slots count from the earlier start, and
 * are as wide as those of `p`. -EINVAL and a sentence if the weights add up to too much. Both may
 * then be of use to profile_free alone.
 */
int merge_timed(struct profile *p, struct profile *file, struct str *why);

/* What a profile without time knew before `p` was read into it may have begun earlier. */
void merge_shift(struct profile *p, u64 start_wall_ns);
