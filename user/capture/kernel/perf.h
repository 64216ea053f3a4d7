/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2). */
#pragma once

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens an event on one CPU for all processes. Returns the descriptor or a negative errno. */
static inline int perf_open(const struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}
