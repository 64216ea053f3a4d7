/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the kernel keeps of a thread on x86-64. */
#pragma once

#include "kernel.h"

#include "machine.h"

static __always_inline void regs_from_task(struct regs *r, const struct pt_regs *user)
{
	*r = (struct regs){
		.pc = user->ip,
		.sp = user->sp,
		.fp = user->bp,
		.ax = user->ax,
		.bx = user->bx,
		.cx = user->cx,
		.dx = user->dx,
		.si = user->si,
		.di = user->di,
		.r11 = user->r11,
		.r13 = user->r13,
		.r15 = user->r15,
	};
}

/* The user's thread pointer. */
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

/* The number of the system call that a thread is in; its arguments are those of a function. */
#define THREAD_CALL(user) ((user)->orig_ax)

/* The return address at the start of a function; `sp` is the one in `user`. */
static __always_inline void thread_return_address(const struct pt_regs *user, u64 sp, u64 *out)
{
	bpf_probe_read_user(out, sizeof(*out), (void *)sp);
}
