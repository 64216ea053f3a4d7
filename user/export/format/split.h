/* SPDX-License-Identifier: Apache-2.0 */
/* Splits stacks by a label, like "Split by" of the page (user/export/writers/page/split.js). */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/*
 * Adds a level below the root: the value of the label dimension `by` ("process", "thread", ..), or
 * for "tier" the kind of the leaf frame. Sums stay the same. Returns -EINVAL and a sentence in
 * `why` if the profile has no such dimension.
 */
int profile_split(struct profile *p, const char *by, struct str *why);

/* Whether profile_split would succeed: 0, or -EINVAL and the same sentence. */
int profile_split_check(const struct profile *p, const char *by, struct str *why);
