/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who runs: identity of a task, which must be one that the verifier trusts (BTF). */
#pragma once

#include "kernel.h"

#include "abi.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

static __always_inline struct task_id task_id_of(struct task_struct *task)
{
	return (struct task_id){
		.pid = task->tgid,
		.tid = task->pid,
		.start_ns = task->group_leader->start_boottime,
	};
}

static __always_inline bool task_is_kernel(struct task_struct *task)
{
	return task->flags & PF_KTHREAD;
}
