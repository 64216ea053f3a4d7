/* SPDX-License-Identifier: Apache-2.0 */
/* The time that has slices, for the files of this folder. */
#pragma once

#include "store/store_state.h"

/* Notes the time of a slice. */
int covered_add(struct store *s, u64 begin_ns, u64 end_ns);

/* Adds up the slices that begin in [from, end), which are multiples of the step, by steps. */
int covered_thin(struct store *s, u64 from_ns, u64 end_ns, u64 step_ns);

/* Forgets the slices that begin in [from, end). */
int covered_forget(struct store *s, u64 from_ns, u64 end_ns);

/* Forgets slices that begin before `old_ns`, and all but the newest 1,000 reasons. */
int covered_upkeep(struct store *s, u64 old_ns);
