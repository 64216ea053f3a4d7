// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Every perf event that the hardware or the kernel counts; its cookie is the event's number. */
#include "unwind.h"

/* Of struct pt_regs (uapi/asm/ptrace.h); no field, whose width is another one from Linux 6.9 on. */
#define CS_WORD 17

/* As one word: the kernel allows no narrower look at it. */
static __always_inline bool is_in_user_code(const struct bpf_perf_event_data *ctx)
{
	const volatile u64 *words = (const void *)ctx;

	return (words[CS_WORD] & 3) == 3;
}

SEC("perf_event")
int perf_sample(struct bpf_perf_event_data *ctx)
{
	u32 event = bpf_get_attach_cookie(ctx) & (ABI_EVENTS - 1);
	struct scratch *s = stack_begin(SLOT_PERF, event);

	if (!s)
		return 0;
	s->sample.weight = knobs.events[event].weight ?: ctx->sample_period;
	s->sample.state = STATE_RUNNING;
	if (!is_in_user_code(ctx)) /* asking the kernel costs 0.3 us also when there is no stack */
		stack_kernel(ctx, s);
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}
