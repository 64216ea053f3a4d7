/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What programs cause as often as they like may not hold them, or the node, up: on each CPU the
 * samples of uprobes and tracepoints take a sixteenth of the time at most, after some time in
 * advance, and those of waits are taken more sparsely the longer they take more than that.
 */
#pragma once

#include "maps.h"

#define THROTTLE_SHIFT      4
#define THROTTLE_ADVANCE_NS 250000000ull
#define THROTTLE_SAMPLE_NS  100000ull /* one that takes longer was interrupted */
#define THROTTLE_HALVE_NS   4000000ull
#define THROTTLE_RING_STEPS 32

/* The time that was spent and not earned since. */
static __always_inline u64 throttle_debt(u32 key, u64 now_ns)
{
	struct throttle *t = bpf_map_lookup_elem(&throttles, &key);

	if (!t)
		return 0;
	u64 earned_ns = (now_ns - t->seen_ns) >> THROTTLE_SHIFT;
	t->spent_ns = t->spent_ns > earned_ns ? t->spent_ns - earned_ns : 0;
	t->seen_ns = now_ns;
	return t->spent_ns;
}

/* Whether there is time for one more. */
static __always_inline bool throttle_allows(u64 now_ns)
{
	return throttle_debt(THROTTLE_HITS, now_ns) < THROTTLE_ADVANCE_NS;
}

/*
 * By what power of two to sample less often; 0 in ordinary times. A debt that grows doubles what
 * a sample stands for until it grows no more; so does a ring that user space does not keep empty.
 */
static __always_inline u32 throttle_halvings(u64 now_ns)
{
	u64 full = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	u64 size = bpf_ringbuf_query(&records, BPF_RB_RING_SIZE);
	u64 steps = throttle_debt(THROTTLE_WAITS, now_ns) / THROTTLE_HALVE_NS;

	if (full > size / 4)
		steps += (full - size / 4) * THROTTLE_RING_STEPS / size;
	return steps;
}

static __always_inline void throttle_spend(u32 key, u64 since_ns)
{
	struct throttle *t = bpf_map_lookup_elem(&throttles, &key);
	u64 ns = bpf_ktime_get_ns() - since_ns;

	if (t)
		t->spent_ns += ns < THROTTLE_SAMPLE_NS ? ns : THROTTLE_SAMPLE_NS;
}
