/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sources of a walk's registers, on arm64. */
#pragma once

#include "kernel.h"

#include "machine.h"

/*
 * From sp at the signal's return to x22. There are a siginfo of 128 bytes and a ucontext, whose
 * registers begin at 184 (arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h).
 */
#define REGS_IN_UCONTEXT  (128 + 184 + 22 * 8)
#define SIGNAL_REGS_WORDS 11 /* x22 to x30, sp, pc */

/* The address in a code pointer that may be signed: the upper bits hold the signature. */
static __always_inline u64 regs_unsigned(u64 pointer)
{
	return pointer & ((1ULL << USER_ADDRESS_BITS) - 1);
}

static __always_inline void regs_from_sigcontext(struct regs *r, const u64 *words)
{
	*r = (struct regs){
		.pc = words[10],
		.sp = words[9],
		.fp = words[7],
		.lr = words[8],
		.x22 = words[0],
	};
}

static __always_inline void regs_keep(struct waiting_regs *kept, const struct regs *r)
{
	*kept = (struct waiting_regs){
		.pc = r->pc, .sp = r->sp, .fp = r->fp, .lr = r->lr, .x22 = r->x22
	};
}

/* No row names another register than sp and fp. */
static __always_inline u64 regs_numbered(const struct regs *r, u32 number)
{
	return 0;
}
