/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges of the kernel. */
#include "capture/stacks/kernel_text.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

/* frames of the tracepoint and the scheduler; deeper ones belong to an earlier call */
#define FRAMES_MAX 24

struct kernel_text kernel_text_read(const char *name)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	auto_free char *start = xasprintf("__%s_text_start", name);
	auto_free char *end = xasprintf("__%s_text_end", name);
	struct kernel_text t = { 0 };
	char line[512], symbol[256];
	unsigned long long addr;

	while (f && !t.end && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "_text_") || sscanf(line, "%llx %*c %255s", &addr, symbol) != 2)
			continue;
		if (!strcmp(symbol, start))
			t.start = addr;
		else if (!strcmp(symbol, end))
			t.end = addr;
	}
	return t;
}

size_t kernel_text_frames(const struct kernel_text *t, const u64 *pcs, size_t nr)
{
	size_t skip = 0;

	for (size_t i = 0; i < nr && i < FRAMES_MAX; i++)
		if (pcs[i] >= t->start && pcs[i] < t->end)
			skip = i + 1;
		else if (skip)
			break;
	return skip;
}

size_t kernel_text_entry_frames(const struct kernel_text *t, const u64 *pcs, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (pcs[i] >= t->start && pcs[i] < t->end)
			return i + 1;
	return nr;
}
