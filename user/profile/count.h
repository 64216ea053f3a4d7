/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the number of samples behind the weights of a profile. That number decides whether a
 * difference is chance.
 */
#pragma once

#include "profile/profile.h"

/*
 * Finds the type that counts the samples behind the weights of `type`. That is `type` itself if it
 * counts samples or hits of weight 1. Otherwise it is NAME in samples ("cpu" in ns and in samples),
 * NAME-samples, or NAME-waits. Returns false if the profile has none. The page has the same rule
 * (page/diff.js).
 */
bool count_find(const struct profile *p, u32 type, u32 *out);

/*
 * The number of samples that a weight of the type stands for. 0 if another type counts the same
 * samples, or if no number is known. CPU time has samples by `rate_hz`.
 */
u64 count_of(const struct profile *p, u32 type, u64 value, double rate_hz);

/*
 * Whether the type is NAME-samples and the profile has a type NAME with another unit, which says
 * more.
 */
bool count_is_only(const struct profile *p, u32 type);

/*
 * Finds the first type that is not 0 everywhere. A type in the unit of the first one comes before
 * others, and any comes before one that counts samples only. Returns false if all are 0.
 */
bool count_find_weighed(const struct profile *p, u32 *out);
