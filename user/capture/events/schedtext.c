/* SPDX-License-Identifier: Apache-2.0 */
/* The address range of the kernel's scheduler. */
#include "capture/events/schedtext.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"

/* frames of the tracepoint and the scheduler; deeper ones belong to an earlier call */
#define FRAMES_MAX 24

struct sched_text sched_text_read(void)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	struct sched_text t = { 0 };
	char line[512], name[256];
	unsigned long long addr;

	/* Labels of the linker script: include/asm-generic/vmlinux.lds.h, SCHED_TEXT. */
	while (f && !t.end && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "__sched_text_") ||
		    sscanf(line, "%llx %*c %255s", &addr, name) != 2)
			continue;
		if (!strcmp(name, "__sched_text_start"))
			t.start = addr;
		else if (!strcmp(name, "__sched_text_end"))
			t.end = addr;
	}
	return t;
}

size_t sched_text_frames(const struct sched_text *t, const u64 *pcs, size_t nr)
{
	size_t skip = 0;

	for (size_t i = 0; i < nr && i < FRAMES_MAX; i++)
		if (pcs[i] >= t->start && pcs[i] < t->end)
			skip = i + 1;
		else if (skip)
			break;
	return skip;
}
