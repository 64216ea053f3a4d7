/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of a thread, by ptrace or from the kernel's list of waits. */
#include "capture/unwind/thread_regs.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifdef __x86_64__

int thread_regs_read(pid_t tid, struct thread_regs *out)
{
	struct user_regs_struct user;

	if (ptrace(PTRACE_GETREGS, tid, 0, &user))
		return -errno;
	*out = (struct thread_regs){
		.regs = { .pc = user.rip,
			  .sp = user.rsp,
			  .fp = user.rbp,
			  .ax = user.rax,
			  .bx = user.rbx,
			  .cx = user.rcx,
			  .dx = user.rdx,
			  .si = user.rsi,
			  .di = user.rdi,
			  .r11 = user.r11,
			  .r13 = user.r13,
			  .r15 = user.r15 },
		.tls = user.fs_base,
	};
	return 0;
}

struct thread_regs thread_regs_of_wait(const struct blocked_thread *p)
{
	const struct waiting_regs *r = &p->regs;

	return (struct thread_regs){
		.regs = { .pc = r->pc,
			  .sp = r->sp,
			  .fp = r->fp,
			  .ax = r->ax,
			  .bx = r->bx,
			  .di = r->di,
			  .r13 = r->r13,
			  .r15 = r->r15 },
		.tls = p->tls,
	};
}

#else

/* Reads a set of registers that is not larger than `size`. */
static int read_set(pid_t tid, unsigned long set, void *out, size_t size)
{
	struct iovec to = { out, size };

	return ptrace(PTRACE_GETREGSET, tid, set, &to) ? -errno : 0;
}

int thread_regs_read(pid_t tid, struct thread_regs *out)
{
	struct user_regs_struct user;
	u64 tls = 0;
	int err = read_set(tid, NT_PRSTATUS, &user, sizeof(user))
			  ?: read_set(tid, NT_ARM_TLS, &tls, sizeof(tls));

	if (err)
		return err;
	*out = (struct thread_regs){
		.regs = { .pc = user.pc,
			  .sp = user.sp,
			  .fp = user.regs[29],
			  .lr = user.regs[30],
			  .x22 = user.regs[22] },
		.tls = tls,
	};
	return 0;
}

struct thread_regs thread_regs_of_wait(const struct blocked_thread *p)
{
	const struct waiting_regs *r = &p->regs;

	return (struct thread_regs){
		.regs = { .pc = r->pc, .sp = r->sp, .fp = r->fp, .lr = r->lr, .x22 = r->x22 },
		.tls = p->tls,
	};
}

#endif
