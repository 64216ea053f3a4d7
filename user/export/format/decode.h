/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the format of docs/profile-format.md. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/*
 * Adds a body's stacks, weights and labels to `p`. Value types are matched by name and unit;
 * missing ones are added. Title, host, times and notes replace those of `p`. The parts of methods
 * by tier (TIERS) are divided over the stacks again (struct tierpath). Returns -EINVAL and a
 * sentence in `why` if the body is damaged; `p` may then hold a part of it.
 */
int body_decode(const u8 *body, size_t len, struct profile *p, struct str *why);
