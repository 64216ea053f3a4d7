/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The times in which samples are taken: the recording's window and, within it, the time between two
 * functions.
 */
#pragma once

#include "maps.h"

#define WINDOW_NEVER (~0ull)

/*
 * The recording's window, [begin, end) in CLOCK_MONOTONIC. User space sets the begin when all
 * events are on, and the end at the same time if it is known. Only the part of a wait inside it
 * counts.
 */
extern u64 recording_begin_ns, recording_end_ns;

static __always_inline bool recording_holds(u64 time_ns)
{
	return time_ns >= recording_begin_ns && time_ns < recording_end_ns;
}

/*
 * The time from which samples of the process count: the recording's begin, or the process's call of
 * the begin function. WINDOW_NEVER if its samples do not count now.
 */
u64 window_since(u32 pid);
