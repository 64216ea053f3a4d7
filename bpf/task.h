/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The identity of a task. The pointer must be one that the verifier trusts (BTF). */
#pragma once

#include "kernel.h"

#include "abi.h"

/* include/linux/sched.h */
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

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

/* Whether the task is exiting. Its memory is released meanwhile. */
static __always_inline bool task_is_ending(struct task_struct *task)
{
	return task->flags & PF_EXITING;
}

/* The user's thread pointer on x86-64. CO-RE finds the kernel's type by its name. */
struct thread_struct___x86 {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct___x86 {
	struct thread_struct___x86 thread;
} __attribute__((preserve_access_index));

static __always_inline u64 task_tls(struct task_struct *task)
{
	return ((struct task_struct___x86 *)task)->thread.fsbase;
}
