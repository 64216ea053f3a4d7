// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What Java code allocates and which monitors it waits for, told by uprobes on the agent's hooks
 * (jvmmap/hook.h); allocations also on libjvm's own functions where there is no agent.
 */
#include "unwind.h"

#include "chance.h"
#include "held.h"
#include "target.h"
#include "window.h"

static __always_inline u64 class_info(enum user_frame_kind kind, u64 detail)
{
	return (u64)kind << USER_FRAME_KIND_SHIFT | (detail & USER_FRAME_DETAIL_MASK);
}

/* Sends the stack with a leaf that is no code, none if `info` is 0; returns when it was, or 0. */
static __always_inline u64 take(struct pt_regs *ctx, u32 event, u64 weight, u64 class, u64 info)
{
	struct scratch *s = stack_begin(SLOT_UPROBE, event);

	if (!s)
		return 0;
	u64 time_ns = s->sample.time_ns;
	s->sample.weight = weight;
	if (info)
		stack_push(s, class, info);
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return time_ns;
}

/* jvmmap_hook_alloc(class, size, interval, number) */
SEC("uprobe")
int alloc_hook(struct pt_regs *ctx)
{
	u64 number = PT_REGS_PARM4(ctx);

	if (knobs.alloc_is_live && !number) {
		count(STAT_LEAK_UNTRACKED);
		return 0;
	}
	u64 time_ns = take(ctx, knobs.alloc_event, PT_REGS_PARM2(ctx), PT_REGS_PARM1(ctx),
			   class_info(USER_FRAME_CLASS, PT_REGS_PARM3(ctx)));
	if (knobs.alloc_is_live && time_ns)
		held_add(number, time_ns);
	return 0;
}

/* jvmmap_hook_gone(number): that object is collected. */
SEC("uprobe")
int alloc_gone(struct pt_regs *ctx)
{
	held_free(PT_REGS_PARM1(ctx));
	return 0;
}

/* An object that stands for `size` bytes: those are sampled as in chance.h. */
static __always_inline int take_klass(struct pt_regs *ctx, u64 size, u64 detail)
{
	u64 weight = chance_weigh(size, knobs.alloc_interval);

	if (!weight)
		return 0;
	take(ctx, knobs.alloc_event, weight, PT_REGS_PARM1(ctx),
	     class_info(USER_FRAME_KLASS, detail));
	return 0;
}

/*
 * AllocTracer::send_allocation_in_new_tlab(klass, object, tlab_size, size, thread), JDK 8's
 * send_allocation_in_new_tlab_event: the object that did not fit into the thread's buffer stands
 * for all that the next one will hold.
 */
SEC("uprobe")
int alloc_tlab(struct pt_regs *ctx)
{
	return take_klass(ctx, PT_REGS_PARM3(ctx), KLASS_IN_TLAB);
}

/* AllocTracer::send_allocation_outside_tlab(klass, object, size, thread) */
SEC("uprobe")
int alloc_outside(struct pt_regs *ctx)
{
	return take_klass(ctx, PT_REGS_PARM3(ctx), KLASS_OUTSIDE_TLAB);
}

/* Of a wait that the agent chose, what lies within --begin and --end. */
static __always_inline u64 wait_in_window(u64 waited_ns, u64 min_ns)
{
	u64 since_ns = window_since(bpf_get_current_pid_tgid() >> 32), now_ns = bpf_ktime_get_ns();
	u64 in_ns = now_ns > since_ns ? now_ns - since_ns : 0;

	if (waited_ns <= in_ns)
		return waited_ns;
	/* It was drawn by lot for its whole length. */
	return chance_weigh(in_ns, waited_ns < min_ns ? waited_ns : min_ns) ? in_ns : 0;
}

/* jvmmap_hook_lock(class, waited_ns, min_ns, nr_lost) */
SEC("uprobe")
int lock_hook(struct pt_regs *ctx)
{
	u64 waited_ns = wait_in_window(PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));

	/* What has ended since is told as a wait that lasted. */
	if (waited_ns && !waits_end_ns &&
	    take(ctx, knobs.waits[WAIT_LOCK].event, waited_ns, PT_REGS_PARM1(ctx),
		 class_info(USER_FRAME_CLASS, PT_REGS_PARM3(ctx))))
		count_more(STAT_WAIT_LOST, PT_REGS_PARM4(ctx));
	return 0;
}
