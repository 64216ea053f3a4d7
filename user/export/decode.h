/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of docs/profile-format.md as a profile. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/*
 * Adds what a body holds to `p`: stacks, weights, labels; the value types are matched by name and
 * unit and added where they are new; title, host, times and notes replace those of `p`. Parts of
 * methods by tier (TIERS) are not kept: a merged node comes back with its kind of most weight.
 * -EINVAL and a sentence in `why` if the body is damaged; `p` may then hold a part of it.
 */
int body_decode(const u8 *body, size_t len, struct profile *p, struct str *why);
