/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, all in nanoseconds. */
#pragma once

#include "base/types.h"

#define NS_PER_SEC 1000000000ull
#define NS_PER_MS  1000000ull
#define TIME_NEVER UINT64_MAX

/* A time span: [begin, end). */
struct span {
	u64 begin_ns, end_ns;
};

/* CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns. */
u64 time_mono_ns(void);

/* CLOCK_BOOTTIME, the clock of a task's start_boottime and of /proc/PID/stat's starttime. */
u64 time_boot_ns(void);

/* CLOCK_THREAD_CPUTIME_ID: the CPU time of the calling thread, without its waits. */
u64 time_worked_ns(void);

/* The CPU time of a process; PID 0: this process. Returns 0 if it has ended. */
u64 time_process_ns(pid_t pid);

/*
 * How long the process's first thread was ready to run, but had no CPU; PID 0: the calling thread.
 * 0 if it has ended, or the kernel does not count it.
 */
u64 time_waited_for_cpu_ns(pid_t pid);

/* CLOCK_REALTIME. */
u64 time_wall_ns(void);
