/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges of the kernel by the labels of its linker script (include/asm-generic/
 * vmlinux.lds.h). They hold frames that belong to no sampled code: the scheduler's of a waiting
 * thread, which do not show why it waits, and a timer's above the code that it interrupted.
 */
#pragma once

#include "base/types.h"

/* [start, end); both 0 if kernel addresses are hidden. */
struct kernel_text {
	u64 start, end;
};

/*
 * The range between __NAME_text_start and __NAME_text_end: "sched", or "entry", the code in
 * assembler through which interrupts enter the kernel. Reads /proc/kallsyms, which takes some 30
 * ms.
 */
struct kernel_text kernel_text_read(const char *name);

/*
 * The number of pcs, leaf first, to leave out: up to the last one of a row in the range, which is
 * among the first. Those before it belong to the tracepoint that took the sample.
 */
size_t kernel_text_frames(const struct kernel_text *t, const u64 *pcs, size_t nr);

/* The same, up to the first pc in the range; all `nr` if no pc lies in it. */
size_t kernel_text_entry_frames(const struct kernel_text *t, const u64 *pcs, size_t nr);
