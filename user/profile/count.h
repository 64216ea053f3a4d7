/* SPDX-License-Identifier: Apache-2.0 */
/* Of how many samples the weights of a profile are: what tells whether a difference is chance. */
#pragma once

#include "profile/profile.h"

/*
 * The type that says of how many samples the weights of `type` are: itself if it counts samples, or
 * hits that are one each; else NAME in samples ("cpu" in ns and in samples), NAME-samples, or at
 * least NAME-waits. False if the profile does not tell. The page has the same rule (page/diff.js).
 */
bool count_find(const struct profile *p, u32 type, u32 *out);

/* Whether the type is NAME-samples of a type NAME, which says more. */
bool count_is_only(const struct profile *p, u32 type);
