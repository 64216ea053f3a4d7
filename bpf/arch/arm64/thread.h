/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the kernel keeps of a thread on arm64. */
#pragma once

#include "kernel.h"

#include "machine.h"

static __always_inline void regs_from_task(struct regs *r, const struct pt_regs *user)
{
	*r = (struct regs){
		.pc = user->user_regs.pc,
		.sp = user->user_regs.sp,
		.fp = user->user_regs.regs[29],
		.lr = user->user_regs.regs[30],
		.x22 = user->user_regs.regs[22],
	};
}

/* The user's thread pointer. */
struct uw___arm64 {
	unsigned long tp_value;
} __attribute__((preserve_access_index));

struct thread_struct___arm64 {
	struct uw___arm64 uw;
} __attribute__((preserve_access_index));

struct task_struct___arm64 {
	struct thread_struct___arm64 thread;
} __attribute__((preserve_access_index));

static __always_inline u64 task_tls(struct task_struct *task)
{
	return ((struct task_struct___arm64 *)task)->thread.uw.tp_value;
}

struct pt_regs___call {
	int syscallno;
} __attribute__((preserve_access_index));

/*
 * The number of the system call that a thread is in. Its arguments are those of a function; the
 * result takes the place of the first one.
 */
#define THREAD_CALL(user) BPF_CORE_READ((const struct pt_regs___call *)(user), syscallno)

/* The return address at the start of a function; `sp` is the one in `user`. */
static __always_inline void thread_return_address(const struct pt_regs *user, u64 sp, u64 *out)
{
	*out = PT_REGS_RET(user);
}
