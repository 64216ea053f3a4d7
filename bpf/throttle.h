/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A limit on the time that samples take on a CPU, because programs can cause events at any rate.
 * Samples of uprobes and tracepoints get a sixteenth of the time, plus THROTTLE_ADVANCE_NS at
 * once. Waits and reports of the agent's hooks become sparser while they exceed that share, or
 * while user space is behind. Their samples then weigh more, which keeps sums right.
 */
#pragma once

#include "maps.h"
#include "sampling.h"

#define THROTTLE_SHIFT      4
#define THROTTLE_ADVANCE_NS 250000000ull
#define THROTTLE_SAMPLE_NS  100000ull /* a sample that takes longer was interrupted */
#define THROTTLE_HALVE_NS   4000000ull
#define THROTTLE_RING_STEPS 32

/* The time that samples took, less the share of time granted since. */
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

/* Whether another sample fits in. */
static __always_inline bool throttle_allows(u64 now_ns)
{
	return throttle_debt(THROTTLE_HITS, now_ns) < THROTTLE_ADVANCE_NS;
}

/*
 * How often to halve the sampling rate; 0 in ordinary times. The number grows with the debt, with
 * the fill level of the ring, and with the records that user space has taken but not processed.
 * Each step doubles the unit, until the debt stops growing.
 */
static __always_inline u32 throttle_halvings(u32 key, u64 now_ns)
{
	u64 full = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	u64 size = bpf_ringbuf_query(&records, BPF_RB_RING_SIZE);
	u64 steps = throttle_debt(key, now_ns) / THROTTLE_HALVE_NS + backlog_halvings;

	if (full > size / 4)
		steps += (full - size / 4) * THROTTLE_RING_STEPS / size;
	return steps;
}

static __always_inline u64 throttle_unit(u64 unit, u32 halvings)
{
	u64 wider = unit << (halvings & 31);

	return halvings > 31 || wider > SAMPLING_UNIT_MAX ? SAMPLING_UNIT_MAX : wider;
}

/*
 * The unit at which an event of that weight is a sample; 0 if it is not. `weight` is the result of
 * sampling_weigh with the unit `least`. Two draws in a row equal one draw by the larger unit.
 */
static __always_inline u64 throttle_choose(u32 key, u64 weight, u64 least)
{
	u64 unit = throttle_unit(least, throttle_halvings(key, bpf_ktime_get_ns()));

	return sampling_weigh(weight, unit) ? unit : 0;
}

static __always_inline void throttle_spend(u32 key, u64 since_ns)
{
	struct throttle *t = bpf_map_lookup_elem(&throttles, &key);
	u64 ns = bpf_ktime_get_ns() - since_ns;

	if (t)
		t->spent_ns += ns < THROTTLE_SAMPLE_NS ? ns : THROTTLE_SAMPLE_NS;
}
