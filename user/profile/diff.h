/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one: what weighs how much before and after. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/*
 * Fills the new profile `out` with the stacks of both under two value types, role ROLE_AFTER first.
 * The weights are those of the files, not scaled; a stack that is in one of them only is kept. Of
 * several value types the first one that both have is compared, samples before others. Process
 * frames ("java-123") that are not in both lose their number. -EINVAL and a sentence if the two
 * have no value type in common.
 */
int profile_diff(const struct profile *before, const struct profile *after, struct profile *out,
		 struct str *why);

bool profile_is_diff(const struct profile *p);

/* Whether weights are compared as they are, in text and at first in the page, not their shares. */
bool diff_is_by_counts(const struct profile *p);
void diff_by_counts(struct profile *p);

/*
 * Whether counts differ by more than chance makes them: two standard deviations of Poisson counts,
 * `scale` after's total over before's.
 */
bool diff_is_significant(u64 before, u64 after, double scale);
