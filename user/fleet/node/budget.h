/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time that the fleet may take from a node in a day, as a bucket that refills slowly. */
#pragma once

#include "fleet/wire/policy.h"

struct budget {
	u32 nr_cpus;
	u64 size_ns, left_ns, filled_mono_ns;
};

/* A full bucket. */
void budget_init(struct budget *b, u32 nr_cpus, u64 now_ns);

/* Sets the size of the budget, in millionths of all CPUs. Does not refill it. */
void budget_limit(struct budget *b, u32 ppm, u64 now_ns);

/* The level of a bucket `passed_ns` after it was at `left_ns`. */
u64 budget_refilled(u32 nr_cpus, u64 left_ns, u64 passed_ns);

/* The CPU time that is left now. */
u64 budget_left(struct budget *b, u64 now_ns);

/* Takes CPU time out of the budget, at most all that is left. */
void budget_take(struct budget *b, u64 cpu_ns, u64 now_ns);

/* Gives back CPU time that was taken but not used. */
void budget_give(struct budget *b, u64 cpu_ns);

/* The expected CPU time of a recording: 40 us for each sample, and the merge. */
u64 budget_estimate(u32 nr_cpus, u32 hz, u32 duration_s);
