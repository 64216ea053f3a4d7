/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Facts about arm64 that BPF programs and user space need. */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* The registers that carry over from frame to frame, and those of a leaf. fp is x29. */
struct regs {
	__u64 pc, sp, fp;
	__u64 lr, x22; /* lr is x30; valid in a leaf only */
};
#define REGS_WORDS 5
#define REGS_NAMES                            \
	{                                     \
		"pc", "sp", "fp", "lr", "x22" \
	}

#define REG_BCP x22 /* the bytecode pointer of HotSpot's interpreter */

/* The registers that a thread which waits in the kernel keeps for a walk. */
struct waiting_regs {
	__u64 pc, sp, fp, lr, x22;
};

#define USER_ADDRESS_BITS 48

#define CALL_PUSHES 0 /* bytes: calls leave the return address in x30 */

/* The address of the table of thread-local storage, from the thread pointer (glibc). */
#define DTV_SLOT 0

/* Numbers in call frame information (DWARF for the Arm 64-bit architecture, 4.1). */
#define DWARF_FP 29
#define DWARF_SP 31
#define DWARF_RA 30

/* Bits of further registers that a leaf has. */
#define DWARF_LEAF 0

#define MACHINE_ELF EM_AARCH64

/* A system call's number on this machine. */
#define MACHINE_CALL(x86, arm64) arm64
