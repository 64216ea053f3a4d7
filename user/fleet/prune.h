/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds a merged profile. */
#pragma once

#include "profile/profile.h"

#define PRUNE_FRAME "[truncated]"

/*
 * Keeps the `max` heaviest stacks of every service. The weights of the others go to a stack of one
 * frame, PRUNE_FRAME, with the same labels: totals by label and type stay.
 */
void prune_stacks(struct profile *p, u32 max);
