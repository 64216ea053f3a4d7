/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges of the kernel by the labels of its linker script (include/asm-generic/
 * vmlinux.lds.h). These ranges hold frames that do not belong to the sampled code: frames of the
 * scheduler in a waiting thread, which do not show the reason for the wait, and frames of a timer
 * interrupt.
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
 * The number of pcs to leave out, counted from the leaf. The first frames belong to the tracepoint
 * that took the sample, the next ones lie in the range. The last of these is the last one to leave
 * out. 0 if no frame near the leaf lies in the range.
 */
size_t kernel_text_frames(const struct kernel_text *t, const u64 *pcs, size_t nr);

/* The number of pcs, leaf first, up to the first one in the range; `nr` if no pc lies in it. */
size_t kernel_text_entry_frames(const struct kernel_text *t, const u64 *pcs, size_t nr);
