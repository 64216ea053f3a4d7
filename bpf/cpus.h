/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which CPUs are sampled. */
#pragma once

#include "maps.h"

/* Whether samples of that CPU count. */
static __always_inline bool cpu_is_sampled(u32 cpu)
{
	return !knobs.has_cpus ||
	       (cpu < KNOBS_CPUS &&
		knobs.cpus[(cpu / 64) & (KNOBS_CPUS / 64 - 1)] >> (cpu & 63) & 1);
}
