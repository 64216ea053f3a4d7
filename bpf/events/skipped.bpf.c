// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Samples of clocks for which the kernel did not run perf_sample. The kernel runs no program of a
 * perf event while another program of a perf event, kprobe or tracepoint runs on the CPU, or while
 * the bpf() system call changes a map (bpf_prog_active in bpf_overflow_handler,
 * kernel/events/core.c). Raw tracepoints have no such check.
 */
#include "unwind/unwind.h"

#include "events/clock.h"

/* The perf event's number in the recording; ABI_EVENTS if it is not one of our clocks. */
static __always_inline u32 event_of(struct perf_event *clock)
{
	u32 event = BPF_CORE_READ(clock, bpf_cookie) & (ABI_EVENTS - 1);

	return clock_id(clock, event) ? event : ABI_EVENTS;
}

/* An expiry for which perf_sample did not run. */
struct expiry {
	struct event_runs *runs; /* NULL: it ran */
	u64 period;
	u64 nr_late; /* see struct event_runs */
};

static __always_inline void count_skipped(struct expiry *e, const struct perf_event *clock,
					  u32 event)
{
	u32 key = event; /* the verifier forgets the bound of a key on the stack */
	struct event_runs *runs = bpf_map_lookup_elem(&event_runs, &key);

	if (!runs)
		return;
	clock_use(runs, BPF_CORE_READ(clock, id));
	/* The kernel has set the timer for the next time already. */
	u64 due_ns = runs->next_ns, next_ns = BPF_CORE_READ(clock, hw.hrtimer._softexpires);
	runs->next_ns = next_ns;
	if (runs->nr != runs->nr_known) {
		runs->nr_known = runs->nr;
		return;
	}
	u64 period_ns = BPF_CORE_READ(clock, hw.sample_period);
	e->runs = runs;
	e->period = BPF_CORE_READ(clock, hw.last_period);
	e->nr_late = clock_nr_between(due_ns, next_ns - period_ns, period_ns);
	runs->nr_known = ++runs->nr;
	runs->counted += e->period;
	runs->nr_busy += bpf_get_current_pid_tgid() != 0;
	runs->nr_late += e->nr_late;
	runs->is_wanted = 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(perf_skipped, struct hrtimer *timer)
{
	if (!clock_function || (u64)timer->function != clock_function)
		return 0;

	struct perf_event *clock =
		(void *)timer - bpf_core_field_offset(struct perf_event, hw.hrtimer);
	u32 event = event_of(clock);
	if (event >= ABI_EVENTS)
		return 0;

	struct expiry e = {};
	count_skipped(&e, clock, event);
	if (!e.runs)
		return 0;

	struct scratch *s = stack_begin(SLOT_PERF, event);
	if (!s)
		return 0;
	e.runs->nr_wanted++;
	e.runs->nr_late_wanted += e.nr_late;
	e.runs->is_wanted = 1;
	s->sample.weight = knobs.events[event].weight ?: e.period;
	s->sample.state = STATE_RUNNING;
	/* Whether the timer interrupted user code is unknown here: user space drops its frames. */
	s->sample.is_from_timer = 1;
	stack_kernel(ctx, s);
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}
