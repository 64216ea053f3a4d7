/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events that a program causes as often as it likes, by calling a function, may not stop it: on
 * each CPU their samples take a sixteenth of the time at most, after some time in advance.
 */
#pragma once

#include "maps.h"

#define THROTTLE_SHIFT      4
#define THROTTLE_ADVANCE_NS 250000000ull
#define THROTTLE_SAMPLE_NS  100000ull /* one that takes longer was interrupted */

/* Whether there is time for one more. */
static __always_inline bool throttle_allows(u64 now_ns)
{
	u32 key = 0;
	struct throttle *t = bpf_map_lookup_elem(&throttles, &key);

	if (!t)
		return true;
	u64 allowed_ns = (now_ns - t->seen_ns) >> THROTTLE_SHIFT;
	t->spent_ns = t->spent_ns > allowed_ns ? t->spent_ns - allowed_ns : 0;
	t->seen_ns = now_ns;
	return t->spent_ns < THROTTLE_ADVANCE_NS;
}

static __always_inline void throttle_spend(u64 since_ns)
{
	u32 key = 0;
	struct throttle *t = bpf_map_lookup_elem(&throttles, &key);
	u64 ns = bpf_ktime_get_ns() - since_ns;

	if (t)
		t->spent_ns += ns < THROTTLE_SAMPLE_NS ? ns : THROTTLE_SAMPLE_NS;
}
