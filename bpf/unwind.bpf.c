// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The user stack of the current task, by the kernel's frame-pointer walk. */
#include "unwind.h"

#include "task.h"

__hidden u32 unwind_user(void *ctx, struct scratch *s)
{
	u64 first = s->sample.nr_kernel, *room = &s->words[ABI_SAMPLE_WORDS / 2];

	if (task_is_kernel((void *)bpf_get_current_task()))
		return STAT_NO_USER;

	/* Into the upper half, which nothing else uses as long as there are at most 127 frames. */
	long bytes = bpf_get_stack(ctx, room, ABI_KERNEL_FRAMES * sizeof(u64), BPF_F_USER_STACK);
	if (bytes <= 0)
		return STAT_UNREADABLE;
	for (u32 i = 0; i < ABI_KERNEL_FRAMES; i++) {
		if (i >= bytes / sizeof(u64) || first + 2 * i >= ABI_SAMPLE_WORDS / 2)
			break;
		stack_push(s, room[i], 0);
	}
	return STAT_FRAME_POINTERS;
}
