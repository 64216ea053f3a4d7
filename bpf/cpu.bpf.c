// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The cpu source: a perf event on every CPU. */
#include "unwind.h"

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	struct scratch *s = stack_begin(ctx, SOURCE_CPU);

	if (s)
		stack_submit(s, unwind_user(ctx, s));
	return 0;
}
