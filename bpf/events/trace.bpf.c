// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tracepoints, kprobes, uprobes and calls of Java methods. A sample is one hit in `period`. The
 * cookie is the event's number.
 */
#include "unwind/unwind.h"

#include "events/filter.h"
#include "target.h"

/* Whether this hit is a sample. Hits of all wanted processes are counted together, per CPU. */
static __always_inline bool is_due(u32 event)
{
	u64 period = knobs.events[event].period;
	u64 *nr = bpf_map_lookup_elem(&hits, &event);

	if (period <= 1 || !nr || !target_is_wanted(bpf_get_current_task_btf()))
		return true;
	if (++*nr < period)
		return false;
	*nr = 0;
	return true;
}

/*
 * Only the kernel knows how often it did not run the program. These counts show which part of the
 * runs are of targets.
 */
static __always_inline struct event_runs *count_run(u32 event)
{
	u32 key = event; /* the verifier forgets the bound of a key on the stack */
	struct event_runs *runs = bpf_map_lookup_elem(&event_runs, &key);

	if (runs)
		runs->nr++;
	return runs;
}

/* A hit in the kernel, with both stacks. */
static __always_inline int take_kernel_hit(void *ctx, u32 event, struct event_runs *runs)
{
	struct scratch *s = is_due(event) ? stack_begin(SLOT_TRACE, event) : NULL;

	if (!s)
		return 0;
	if (runs)
		runs->nr_wanted++;
	s->sample.weight = knobs.events[event].weight;
	stack_kernel(ctx, s);
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}

SEC("tracepoint")
int trace_hit(void *ctx)
{
	u32 event = bpf_get_attach_cookie(ctx) & (ABI_EVENTS - 1);

	struct event_runs *runs = count_run(event);
	if (knobs.events[event].has_filter && !filter_passes(ctx, event))
		return 0;
	return take_kernel_hit(ctx, event, runs);
}

/* Functions of the kernel, at their begin or return. */
SEC("kprobe")
int kprobe_hit(struct pt_regs *ctx)
{
	u32 event = bpf_get_attach_cookie(ctx) & (ABI_EVENTS - 1);

	return take_kernel_hit(ctx, event, count_run(event));
}

/* No kernel stack: it would only show the uprobe itself. */
static __always_inline int take_hit(struct pt_regs *ctx, u32 event, u64 weight)
{
	struct scratch *s = is_due(event) ? stack_begin(SLOT_UPROBE, event) : NULL;

	if (!s)
		return 0;
	s->sample.weight = weight;
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}

SEC("uprobe")
int uprobe_hit(struct pt_regs *ctx)
{
	u32 event = bpf_get_attach_cookie(ctx) & (ABI_EVENTS - 1);

	return take_hit(ctx, event, knobs.events[event].weight);
}

/*
 * Whether event `i` counts calls of the method with that number: at their begin, or at their end if
 * they last long enough.
 */
static __always_inline bool is_call_of(u32 i, u32 number, bool at_end, u64 lasted_ns)
{
	u64 min_ns = knobs.method_min_ns[i];

	return knobs.methods[i] && knobs.methods[i] == number &&
	       (at_end ? min_ns && lasted_ns >= min_ns : !min_ns);
}

/*
 * Its cookie is enum java_call. jvmmap_hook_method(-, -, number): a Java method was called.
 * jvmmap_hook_lasted(-, -, number, ns): a call has ended; another recorder may want shorter ones.
 */
SEC("uprobe")
int method_hook(struct pt_regs *ctx)
{
	bool at_end = bpf_get_attach_cookie(ctx) == JAVA_LASTED;
	u32 number = PT_REGS_PARM3(ctx);
	u64 lasted_ns = PT_REGS_PARM4(ctx);

	for (u32 i = 0; i < ABI_EVENTS; i++)
		if (is_call_of(i, number, at_end, lasted_ns))
			return take_hit(ctx, i, at_end ? lasted_ns : knobs.events[i].weight);
	return 0;
}
