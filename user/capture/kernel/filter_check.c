/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own opinion on a filter. */
#include "capture/kernel/filter_check.h"

#include <errno.h>
#include <sys/ioctl.h>

#include "base/auto.h"
#include "capture/kernel/cpulist.h"
#include "capture/kernel/perf.h"

int filter_check(u64 id, const char *filter, bool *is_known)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
		.disabled = 1,
	};
	cpulist online = { 0 };
	int err = cpulist_online(&online);
	auto_close int fd = err ? -1 : perf_open(&attr, online.nr ? online.at[0] : 0);

	vec_fini(&online);
	*is_known = fd >= 0;
	if (fd < 0)
		return err ?: fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : 0;
}
