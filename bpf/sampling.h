/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sampling by size. A size of at least `unit` is always a sample and weighs its size. A smaller one
 * is a sample with probability size / unit and weighs `unit`. Sums are right on average, and the
 * cost is bounded.
 */
#pragma once

#include "kernel.h"

#define SAMPLING_UNIT_MAX 0xffffffffull

/*
 * The sample's weight; 0 if it is not sampled. `unit` is at most SAMPLING_UNIT_MAX; with unit 0
 * nothing is sampled.
 */
static __always_inline u64 sampling_weigh(u64 size, u64 unit)
{
	if (!unit || size >= unit)
		return unit ? size : 0;
	return ((u64)bpf_get_prandom_u32() * unit) >> 32 < size ? unit : 0;
}
