/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel's scheduler lies: the leaves of a waiting thread, which say nothing of why. */
#pragma once

#include "base/types.h"

/* [start, end); both 0 if kernel addresses are hidden. */
struct sched_text {
	u64 start, end;
};

/* From /proc/kallsyms, some 30 ms. */
struct sched_text sched_text_read(void);

/*
 * How many of the leaf-first pcs to leave out: up to the last one in the scheduler, which is among
 * the first; those before it are of the tracepoint that took the sample.
 */
size_t sched_text_frames(const struct sched_text *t, const u64 *pcs, size_t nr);
