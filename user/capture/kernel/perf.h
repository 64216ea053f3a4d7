/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2), and whether an event still counts. */
#pragma once

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"

/* Opens an event on one CPU for all processes. Returns the descriptor or a negative errno. */
static inline int perf_open(const struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The read_format for perf_has_run. */
#define PERF_RUN_FORMAT PERF_FORMAT_TOTAL_TIME_RUNNING

/*
 * Whether the enabled event has run since the last call, whose result is in *running_ns; 0 before
 * the first one. When a CPU goes offline, the kernel takes its events from it for good
 * (__perf_event_exit_context): their descriptors stay valid, but their time stands still. Not
 * TIME_ENABLED, which goes on if such an event is enabled later.
 */
static inline bool perf_has_run(int fd, u64 *running_ns)
{
	u64 values[2]; /* count, time */

	if (read(fd, values, sizeof(values)) != sizeof(values) || values[1] == *running_ns)
		return false;
	*running_ns = values[1];
	return true;
}
