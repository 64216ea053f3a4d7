/* SPDX-License-Identifier: Apache-2.0 */
/* The count of unloaded classes, one of the counters in HotSpot's memory. */
#include "jvm/memory/unloads.h"

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/process/perfdata.h"

u64 unloads_find(const struct vm_memory *j)
{
	auto_free u8 *counters = xmalloc(PERFDATA_MAX);
	u64 start;

	if (vm_read_static(j, PERF_START, &start) || !start)
		return 0;
	ssize_t len = mem_read_some(j->mem, start, counters, PERFDATA_MAX);
	u64 off = len > 0 ? perfdata_number(counters, (size_t)len, "java.cls.unloadedClasses") : 0;
	return off ? start + off : 0;
}

u64 unloads_read(const struct vm_memory *j)
{
	u64 nr;

	return j->unloads && !mem_read_u64(j->mem, j->unloads, &nr) ? nr + 1 : 0;
}
