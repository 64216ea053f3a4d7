/* SPDX-License-Identifier: Apache-2.0 */
/* The bound of a merged profile. */
#pragma once

#include "profile/profile.h"

#define PRUNE_FRAME "[truncated]"

/*
 * Keeps the `max` heaviest stacks of every service. Of the others PRUNE_FRAME replaces the frames
 * between the deepest caller that is kept and the leaf: self values of methods, and totals by label
 * and type, stay. Totals of methods stay by profile.hidden, of the 65,536 heaviest. Returns the
 * largest value, in the first type, of a stack that was cut.
 */
u64 prune_stacks(struct profile *p, u32 max);
