/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sources of a walk's registers, on x86-64. */
#pragma once

#include "kernel.h"

#include "machine.h"

/* From sp at the signal frame's return address to r8 (arch/x86/include/uapi/asm/ucontext.h). */
#define REGS_IN_UCONTEXT  40
#define SIGNAL_REGS_WORDS 17 /* r8 .. rip of a sigcontext */

/* `words` are r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip (struct sigcontext_64). */
static __always_inline void regs_from_sigcontext(struct regs *r, const u64 *words)
{
	*r = (struct regs){
		.pc = words[16],
		.sp = words[15],
		.fp = words[10],
		.ax = words[13],
		.bx = words[11],
		.cx = words[14],
		.dx = words[12],
		.si = words[9],
		.di = words[8],
		.r11 = words[3],
		.r13 = words[5],
		.r15 = words[7],
	};
}

static __always_inline void regs_keep(struct waiting_regs *kept, const struct regs *r)
{
	kept->pc = r->pc;
	kept->sp = r->sp;
	kept->fp = r->fp;
	kept->ax = r->ax;
	kept->bx = r->bx;
	kept->di = r->di;
	kept->r13 = r->r13;
	kept->r15 = r->r15;
}

/* The register with a DWARF number (x86-64 psABI, figure 3.36); 0 if it is not kept. */
static __always_inline u64 regs_numbered(const struct regs *r, u32 number)
{
	switch (number) {
	case 0:
		return r->ax;
	case 1:
		return r->dx;
	case 2:
		return r->cx;
	case 3:
		return r->bx;
	case 4:
		return r->si;
	case 5:
		return r->di;
	case 11:
		return r->r11;
	case 13:
		return r->r13;
	case 15:
		return r->r15;
	default:
		return 0;
	}
}
