/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks told apart by who ran them: as the page's "Split by", in user/export/page/split.js. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/*
 * Puts a level below the root: the value of the label dimension `by` ("process", "thread", ..), or
 * for "tier" the kind of the frame in which a stack ends. Sums stay the same. -EINVAL and a
 * sentence in `why` if the profile has no such dimension.
 */
int profile_split(struct profile *p, const char *by, struct str *why);

/* Whether profile_split can do it: 0, or -EINVAL and the same sentence. */
int profile_split_check(const struct profile *p, const char *by, struct str *why);
