// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Samples of clocks for which the kernel did not run perf_sample. It runs no program of a perf
 * event while another program of a perf event, kprobe or tracepoint runs on the CPU, or while the
 * bpf() system call changes a map (bpf_prog_active in bpf_overflow_handler, kernel/events/core.c).
 * Raw tracepoints have no such check.
 */
#include "unwind/unwind.h"

#include "clock.h"
#include "maps.h"

/* The perf event's number in the recording; ABI_EVENTS if it is not one of our clocks. */
static __always_inline u32 event_of(struct perf_event *clock)
{
	u32 event = BPF_CORE_READ(clock, bpf_cookie) & (ABI_EVENTS - 1);
	u32 key = event * knobs.nr_cpus + bpf_get_smp_processor_id();
	const u64 *id = bpf_map_lookup_elem(&clock_ids, &key);

	return id && *id && *id == BPF_CORE_READ(clock, id) ? event : ABI_EVENTS;
}

/* Counts the expiry and returns its counters if perf_sample did not run for it, else NULL. */
static __always_inline struct event_runs *count_skipped(u32 event, u64 period)
{
	u32 key = event; /* the verifier forgets the bound of a key on the stack */
	struct event_runs *runs = bpf_map_lookup_elem(&event_runs, &key);

	if (!runs)
		return NULL;
	if (runs->nr != runs->nr_known) {
		runs->nr_known = runs->nr;
		return NULL;
	}
	runs->nr_known = ++runs->nr;
	runs->counted += period;
	runs->nr_busy += bpf_get_current_pid_tgid() != 0;
	return runs;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(perf_skipped, struct hrtimer *timer)
{
	if (!clock_function || (u64)timer->function != clock_function)
		return 0;

	struct perf_event *clock =
		(void *)timer - bpf_core_field_offset(struct perf_event, hw.hrtimer);
	u32 event = event_of(clock);
	u64 period = BPF_CORE_READ(clock, hw.last_period);
	if (event >= ABI_EVENTS)
		return 0;

	struct event_runs *runs = count_skipped(event, period);
	if (!runs)
		return 0;

	struct scratch *s = stack_begin(SLOT_PERF, event);
	if (!s)
		return 0;
	runs->nr_wanted++;
	s->sample.weight = knobs.events[event].weight ?: period;
	s->sample.state = STATE_RUNNING;
	/* Whether the timer interrupted user code is unknown here: user space drops its frames. */
	s->sample.is_from_timer = 1;
	stack_kernel(ctx, s);
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}
