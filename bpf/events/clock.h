/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's structs of a perf event that a timer drives. CO-RE finds their types by name.
 * perf_swevent_hrtimer (kernel/events/core.c) is the timer's function in all kernels.
 */
#pragma once

#include "abi.h"
#include "kernel.h"
#include "knobs.h"
#include "maps.h"

struct hrtimer {
	void *function;
	s64 _softexpires; /* a clock has no slack: when it expires, CLOCK_MONOTONIC */
} __attribute__((preserve_access_index));

struct hw_perf_event {
	struct hrtimer hrtimer;
	/* use this, as bpf_perf_event_data.sample_period does: the period of a clock varies */
	u64 last_period;
	u64 sample_period; /* of a clock: its own */
} __attribute__((preserve_access_index));

struct perf_event {
	struct hw_perf_event hw;
	u64 bpf_cookie;
	u64 id;
} __attribute__((preserve_access_index));

/* The context of programs of perf events, as the kernel has it. */
struct bpf_perf_event_data_kern {
	struct perf_event *event;
} __attribute__((preserve_access_index));

/*
 * The id of the perf event that timer `clock` drives; 0 if sysflame did not open the event, or has
 * not stored the id yet (attaching a program enables the event).
 */
static __always_inline u64 clock_id(struct perf_event *clock, u32 event)
{
	u32 key = event * knobs.nr_cpus + bpf_get_smp_processor_id();
	const u64 *id = bpf_map_lookup_elem(&clock_ids, &key);

	return id && *id == BPF_CORE_READ(clock, id) ? *id : 0;
}

/*
 * Clears next_ns if another perf event counted on this CPU before: that time belongs to its timer.
 */
static __always_inline void clock_use(struct event_runs *runs, u64 id)
{
	if (runs->clock_id != id)
		runs->next_ns = 0;
	runs->clock_id = id;
}

/* The number of whole periods between two times. */
static __always_inline u64 clock_nr_between(u64 due_ns, u64 end_ns, u64 period_ns)
{
	return period_ns && due_ns && end_ns > due_ns ? (end_ns - due_ns) / period_ns : 0;
}
