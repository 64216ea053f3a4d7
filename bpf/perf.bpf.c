// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Every perf event that the hardware or the kernel counts; its cookie is the event's number. */
#include "unwind.h"

SEC("perf_event")
int perf_sample(struct bpf_perf_event_data *ctx)
{
	u32 event = bpf_get_attach_cookie(ctx) & (ABI_EVENTS - 1);
	struct scratch *s = stack_begin(SLOT_PERF, event);

	if (!s)
		return 0;
	s->sample.weight = knobs.events[event].weight ?: ctx->sample_period;
	s->sample.state = STATE_RUNNING;
	stack_kernel(ctx, s);
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return 0;
}
