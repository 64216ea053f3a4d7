/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Facts about x86-64 that BPF programs and user space need. */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/*
 * The registers that carry over from frame to frame, and those that HotSpot's rules need in a leaf.
 */
struct regs {
	__u64 pc, sp, fp;
	__u64 ax, bx, cx, dx, si, di, r11, r13, r15; /* valid in a leaf only */
};
#define REGS_WORDS 12
#define REGS_NAMES                                                                        \
	{                                                                                 \
		"pc", "sp", "fp", "ax", "bx", "cx", "dx", "si", "di", "r11", "r13", "r15" \
	}

#define REG_BCP r13 /* the bytecode pointer of HotSpot's interpreter */

/* The registers that a thread which waits in the kernel keeps for a walk. */
struct waiting_regs {
	__u64 pc, sp, fp, ax, bx, di, r13, r15;
};

#define USER_ADDRESS_BITS 47

#define CALL_PUSHES 8 /* bytes: the return address */

/* The address of the table of thread-local storage, from the thread pointer (glibc, musl). */
#define DTV_SLOT 8

/* Numbers in call frame information (x86-64 psABI, figure 3.36). */
#define DWARF_FP 6
#define DWARF_SP 7
#define DWARF_RA 16

/* Bits of the registers that a leaf has: rax, rdx, rcx, rbx, rsi, rdi, r11, r13, r15. */
#define DWARF_LEAF 0xa83f

#define MACHINE_ELF EM_X86_64

/* A system call's number on this machine. */
#define MACHINE_CALL(x86, arm64) x86
