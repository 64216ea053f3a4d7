/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The identity of a task. The pointer must be one that the verifier trusts (BTF). */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "thread.h"

/* include/linux/sched.h */
#define PF_EXITING     0x00000004
#define PF_IO_WORKER   0x00000010 /* of io_uring; since Linux 5.12 */
#define PF_USER_WORKER 0x00004000 /* worker of vhost or io_uring; since Linux 6.4 */
#define PF_KTHREAD     0x00200000

static __always_inline struct task_id task_id_of(struct task_struct *task)
{
	return (struct task_id){
		.pid = task->tgid,
		.tid = task->pid,
		.start_ns = task->group_leader->start_boottime,
	};
}

/* Whether the task never runs user code: kernel threads, and the kernel's workers in a process. */
static __always_inline bool task_is_kernel(struct task_struct *task)
{
	return task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}

/* Whether the task is exiting: its memory is being released. */
static __always_inline bool task_is_ending(struct task_struct *task)
{
	return task->flags & PF_EXITING;
}

/* CO-RE finds the kernel's types by their names. */
struct mm_struct___image {
	unsigned long start_code, start_stack;
} __attribute__((preserve_access_index));

struct task_struct___image {
	struct mm_struct___image *mm;
} __attribute__((preserve_access_index));

/*
 * Whether the task is in execve between two programs: its memory is already the new one's, its
 * registers are still the old one's. The kernel sets `start_code` once the program is mapped, right
 * before it sets the registers (fs/binfmt_elf.c, load_elf_binary).
 */
static __always_inline bool task_is_replaced(struct task_struct *task)
{
	struct mm_struct___image *mm = ((struct task_struct___image *)task)->mm;

	return mm && !mm->start_code;
}

/* The sp at which the process's first thread began; 0 if it has no memory. */
static __always_inline u64 task_start_stack(struct task_struct *task)
{
	struct mm_struct___image *mm = ((struct task_struct___image *)task)->mm;

	return mm ? mm->start_stack : 0;
}
