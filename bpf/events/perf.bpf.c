// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Perf events, hardware and software. The cookie is the event's number. */
#include "unwind/unwind.h"

#include "events/clock.h"

/*
 * The index of cs in struct pt_regs, in words (uapi/asm/ptrace.h). The field itself is not used,
 * because its width changes in Linux 6.9.
 */
#define CS_WORD 17

/*
 * Whether the event interrupted user code. Reads cs as a whole word, because the kernel rejects
 * narrower reads.
 */
static __always_inline bool is_in_user_code(const struct bpf_perf_event_data *ctx)
{
	const volatile u64 *words = (const void *)ctx;

	return (words[CS_WORD] & 3) == 3;
}

static __always_inline struct event_runs *count_run(struct bpf_perf_event_data *ctx, u32 event)
{
	u32 key = event; /* the verifier forgets the bound of a key on the stack */
	struct event_runs *runs = bpf_map_lookup_elem(&event_runs, &key);

	if (runs) {
		runs->nr++;
		runs->counted += ctx->sample_period;
		runs->nr_busy += bpf_get_current_pid_tgid() != 0;
	}
	return runs;
}

/*
 * Returns how many samples the timer passes over, because it expires late. Late samples belong to
 * the current task: whatever delayed the timer, such as a host that took the CPU away, has most
 * likely just ended in it. Skipped samples belong to the task of the previous sample: the program
 * that held up this one may have used up that task's time slice. The kernel sets the timer
 * afterwards (hrtimer_forward).
 */
static __always_inline u64 count_missed(struct bpf_perf_event_data *ctx, struct event_runs *runs,
					u32 event)
{
	struct perf_event *clock = BPF_CORE_READ((struct bpf_perf_event_data_kern *)ctx, event);
	u64 due_ns = BPF_CORE_READ(clock, hw.hrtimer._softexpires);
	u64 period_ns = BPF_CORE_READ(clock, hw.sample_period);
	u64 late = clock_nr_between(due_ns, bpf_ktime_get_ns(), period_ns);

	clock_use(runs, clock_id(clock, event));
	u64 skipped = clock_nr_between(runs->next_ns, due_ns, period_ns);

	if (!clock_function)
		clock_function = (u64)BPF_CORE_READ(clock, hw.hrtimer.function);
	runs->next_ns = due_ns + (late + 1) * period_ns;
	runs->nr_late += late;
	runs->nr_skipped += skipped;
	if (runs->is_wanted)
		runs->nr_skipped_wanted += skipped;
	runs->is_wanted = 0;
	return late;
}

SEC("perf_event")
int perf_sample(struct bpf_perf_event_data *ctx)
{
	u32 event = bpf_get_attach_cookie(ctx) & (ABI_EVENTS - 1);

	struct event_runs *runs = count_run(ctx, event);
	u64 late = runs && knobs.events[event].is_clock ? count_missed(ctx, runs, event) : 0;
	struct scratch *s = stack_begin(SLOT_PERF, event);
	if (!s)
		return 0;
	if (runs) {
		runs->nr_wanted++;
		runs->nr_late_wanted += late;
		runs->is_wanted = 1;
	}
	s->sample.weight = knobs.events[event].weight ?: ctx->sample_period;
	s->sample.state = STATE_RUNNING;
	if (!is_in_user_code(ctx)) /* a call costs 0.3 us even without a kernel stack */
		stack_kernel(ctx, s);
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}
