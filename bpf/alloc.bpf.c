// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Allocations in Java: what the agent's hook or libjvm's own functions tell when they are reached.
 */
#include "unwind.h"

/* Sends the stack with the class for its leaf; the weight is the object's size. */
static __always_inline int sample_alloc(struct pt_regs *ctx, u64 class, u64 size, u64 interval)
{
	struct scratch *s = stack_begin(SLOT_UPROBE, knobs.alloc_event);

	if (!s)
		return 0;
	s->sample.weight = size;
	stack_push(s, class,
		   (u64)USER_FRAME_CLASS << USER_FRAME_KIND_SHIFT |
			   (interval & USER_FRAME_INTERVAL_MASK));
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}

/* jvmmap_hook_alloc(number of the class, size, interval), see jvmmap/hooks.h. */
SEC("uprobe")
int alloc_hook(struct pt_regs *ctx)
{
	return sample_alloc(ctx, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
}
