// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Java allocations and waits for monitors, reported by uprobes on the agent's hooks
 * (jvmmap/hooks.h). Without an agent, allocations come from libjvm's own functions.
 */
#include "unwind/unwind.h"

#include "events/live_allocs.h"
#include "maps.h"
#include "records.h"
#include "sampling.h"
#include "target.h"
#include "throttle.h"
#include "window.h"

/*
 * The functions and their parameters, by enum java_call:
 *
 * JAVA_ALLOC is jvmmap_hook_alloc(class, size, interval, number). With --live, number 0 means that
 * the object is not tracked.
 *
 * JAVA_TLAB is AllocTracer::send_allocation_in_new_tlab(klass, object, tlab_size, size, thread),
 * JDK 8's send_allocation_in_new_tlab_event. The object did not fit into its thread's buffer and
 * stands for the whole next buffer. JAVA_OUTSIDE_TLAB is AllocTracer::
 * send_allocation_outside_tlab(klass, object, size, thread). Both are sampled by bytes
 * (sampling.h).
 *
 * JAVA_LOCK is jvmmap_hook_lock(class, waited_ns, min_ns, nr_lost).
 */

/* The part of a wait inside the window of the process. The agent has already chosen the wait. */
static __always_inline u64 wait_in_window(u64 waited_ns, u64 min_ns, u64 now_ns)
{
	u64 since_ns = window_since(bpf_get_current_pid_tgid() >> 32);
	u64 in_ns = now_ns > since_ns ? now_ns - since_ns : 0;

	if (waited_ns <= in_ns)
		return waited_ns;
	/*
	 * The agent chose the wait by its whole length. Choose again, because only a part of it
	 * lies inside the window.
	 */
	return sampling_weigh(in_ns, waited_ns < min_ns ? waited_ns : min_ns) ? in_ns : 0;
}

/*
 * The weight of a wait that the agent reports. Waits that were under way when the recording began
 * or ended weigh 0: the kernel's records cover them.
 */
static __always_inline u64 weigh_lock(u64 waited_ns, u64 min_ns)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (!recording_holds(now_ns) || !recording_holds(now_ns - waited_ns))
		return 0;
	return wait_in_window(waited_ns, min_ns, now_ns);
}

/*
 * The weight of a call, 0 if it is not a sample. This function and the next ones are global: the
 * verifier checks each one separately, and the unwinder once instead of once per kind of call.
 */
__noinline u64 java_weigh(u32 call, u64 second, u64 third)
{
	switch (call) {
	case JAVA_ALLOC:
		return second;
	case JAVA_LOCK:
		return weigh_lock(second, third);
	default:
		return sampling_weigh(third, knobs.alloc_interval);
	}
}

/* The unit with which the agent, or sampling_weigh, has already chosen the call. */
__noinline u64 java_least(u32 call, u64 third)
{
	return call == JAVA_ALLOC || call == JAVA_LOCK ? third : knobs.alloc_interval;
}

/* The unit at which the call is a sample; 0 if it is not. */
__noinline u64 java_unit(u64 weight, u64 least)
{
	return throttle_choose(THROTTLE_HOOKS, weight < least ? least : weight, least);
}

/* The weight of the call's sample. An object that libjvm reports stands for at least the unit. */
__noinline u64 java_weight(u32 call, u64 weight, u64 unit)
{
	bool is_klass = call == JAVA_TLAB || call == JAVA_OUTSIDE_TLAB;

	return is_klass && weight < unit ? unit : weight;
}

/*
 * struct user_frame.info of the class, which is the leaf. Its detail is the sampling interval of an
 * allocation that the agent reports, or the unit of a wait.
 */
__noinline u64 java_class_info(u32 call, u64 interval, u64 unit)
{
	u64 detail = call == JAVA_TLAB           ? KLASS_IN_TLAB
		     : call == JAVA_OUTSIDE_TLAB ? KLASS_OUTSIDE_TLAB
		     : call == JAVA_LOCK         ? unit & USER_FRAME_DETAIL_MASK
						 : interval & USER_FRAME_DETAIL_MASK;
	u64 kind = call == JAVA_ALLOC || call == JAVA_LOCK ? USER_FRAME_CLASS : USER_FRAME_KLASS;

	return kind << USER_FRAME_KIND_SHIFT | detail;
}

__noinline u32 java_event_of(u32 call)
{
	return call == JAVA_LOCK ? knobs.waits[WAIT_LOCK].event : knobs.alloc_event;
}

/* Counts the waits for which the agent had no room. */
__noinline int java_count_lost(u32 call, u64 nr)
{
	if (call == JAVA_LOCK && nr && target_is_wanted(bpf_get_current_task_btf())) {
		count_more(STAT_WAIT_LOST, nr);
		count_event_more(knobs.waits[WAIT_LOCK].event, EVENT_UNTIMED, nr);
	}
	return 0;
}

/*
 * One program for all these functions; its cookie is enum java_call. Each further program with the
 * unwinder would add 75 ms of load time.
 */
SEC("uprobe")
int java_event(struct pt_regs *ctx)
{
	u32 call = bpf_get_attach_cookie(ctx);
	u64 fourth = PT_REGS_PARM4(ctx);

	if (knobs.alloc_is_live && call == JAVA_ALLOC && !fourth) {
		count(STAT_LEAK_UNTRACKED);
		return 0;
	}
	u64 weight = java_weigh(call, PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
	u64 least = java_least(call, PT_REGS_PARM3(ctx));
	u64 unit = weight ? java_unit(weight, least) : 0;
	u32 event = java_event_of(call);
	if (weight)
		java_count_lost(call, fourth);
	struct scratch *s = unit ? stack_begin_hook(event) : NULL;
	if (!s)
		return 0;
	u64 time_ns = s->sample.time_ns;
	s->sample.weight = java_weight(call, weight, unit);
	if (unit != least) {
		s->sample.unit_bytes = unit;
		count_event(event, EVENT_SPARSE);
	}
	stack_push(s, PT_REGS_PARM1(ctx), java_class_info(call, PT_REGS_PARM3(ctx), unit));
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	if (call == JAVA_ALLOC && knobs.alloc_is_live)
		live_allocs_add(fourth, time_ns);
	return 0;
}

/* jvmmap_hook_gone(number): the object with that number has been collected. */
SEC("uprobe")
int alloc_gone(struct pt_regs *ctx)
{
	live_allocs_free(PT_REGS_PARM1(ctx));
	return 0;
}
