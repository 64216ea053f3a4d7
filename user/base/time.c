/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, all in nanoseconds. */
#include "base/time.h"

#include <stdio.h>
#include <time.h>

#include "base/auto.h"

static u64 now(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (u64)ts.tv_sec * NS_PER_SEC + (u64)ts.tv_nsec;
}

u64 time_mono_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

u64 time_boot_ns(void)
{
	return now(CLOCK_BOOTTIME);
}

u64 time_worked_ns(void)
{
	return now(CLOCK_THREAD_CPUTIME_ID);
}

u64 time_process_ns(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : now(clock);
}

u64 time_waited_for_cpu_ns(pid_t pid)
{
	unsigned long long ns;
	char path[32] = "/proc/thread-self/schedstat";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	auto_fclose FILE *f = fopen(path, "re");
	return f && fscanf(f, "%*u %llu", &ns) == 1 ? ns : 0;
}

u64 time_wall_ns(void)
{
	return now(CLOCK_REALTIME);
}
