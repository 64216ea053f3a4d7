/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who runs: identity of the current task. */
#pragma once

#include "kernel.h"

#include "abi.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

static __always_inline struct task_id task_id_of(struct task_struct *task)
{
	return (struct task_id){
		.pid = BPF_CORE_READ(task, tgid),
		.tid = BPF_CORE_READ(task, pid),
		.start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
	};
}

static __always_inline bool task_is_kernel(struct task_struct *task)
{
	return BPF_CORE_READ(task, flags) & PF_KTHREAD;
}
