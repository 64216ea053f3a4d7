// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A sample under construction. */
#include "stack.h"

#include "task.h"

static __always_inline bool is_wanted(u32 pid)
{
	if (pid == 0) {
		count(STAT_IDLE);
		return false;
	}
	if (knobs.filter_by_pid && !bpf_map_lookup_elem(&targets, &pid)) {
		count(STAT_FILTERED);
		return false;
	}
	return true;
}

__hidden struct scratch *stack_begin(void *ctx, u32 source)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();

	if (!is_wanted(pid_tgid >> 32))
		return NULL;

	u32 cpu = bpf_get_smp_processor_id(), slot = cpu * NR_SOURCES + source;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &slot);
	if (!s) {
		count(STAT_NO_SCRATCH);
		return NULL;
	}

	struct task_struct *task = bpf_get_current_task_btf();
	count(STAT_SAMPLES);
	s->sample.kind = RECORD_SAMPLE;
	s->sample.source = source;
	s->sample.task = task_id_of(task);
	s->sample.time_ns = bpf_ktime_get_ns();
	s->sample.weight = 1;
	s->sample.cpu = cpu;
	s->sample.nr_user = 0;
	bpf_get_current_comm(s->sample.comm, sizeof(s->sample.comm));

	long bytes = bpf_get_stack(ctx, s->words, ABI_KERNEL_FRAMES * sizeof(u64), 0);
	s->sample.nr_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
	return s;
}

__hidden void stack_submit(struct scratch *s, u32 stop)
{
	u64 words = s->sample.nr_kernel + 2 * (u64)s->sample.nr_user;

	s->sample.stop = stop;
	count(stop);
	if (words > ABI_SAMPLE_WORDS)
		return;
	if (bpf_ringbuf_output(&records, s, sizeof(struct sample) + words * sizeof(u64),
			       BPF_RB_NO_WAKEUP))
		count(STAT_RING_FULL);
}
