/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address range of the kernel's scheduler. The leaf frames of waiting threads lie in it and do
 * not show why a thread waits.
 */
#pragma once

#include "base/types.h"

/* [start, end); both 0 if kernel addresses are hidden. */
struct sched_text {
	u64 start, end;
};

/* Reads /proc/kallsyms, which takes some 30 ms. */
struct sched_text sched_text_read(void);

/*
 * The number of pcs, leaf first, to leave out: up to the last one in the scheduler, which is among
 * the first. Those before it belong to the tracepoint that took the sample.
 */
size_t sched_text_frames(const struct sched_text *t, const u64 *pcs, size_t nr);
