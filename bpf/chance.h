/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sampling by size: what reaches `unit` is a sample that weighs its size; less is one with the
 * probability size / unit and then weighs `unit`. Sums are right on average, the cost is bounded.
 */
#pragma once

#include "kernel.h"

#define CHANCE_UNIT_MAX 0xffffffffull

/* What it weighs; 0 if it is no sample. `unit` is at most CHANCE_UNIT_MAX; 0: nothing is sampled.
 */
static __always_inline u64 chance_weigh(u64 size, u64 unit)
{
	if (!unit || size >= unit)
		return unit ? size : 0;
	return ((u64)bpf_get_prandom_u32() * unit) >> 32 < size ? unit : 0;
}
