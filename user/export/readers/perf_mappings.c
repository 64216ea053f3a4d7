/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings that `perf script --show-mmap-events` prints: "PERF_RECORD_MMAP2 PID/TID:
 * [0xSTART(0xLEN)
 * @ OFFSET ..]: r-xp FILE".
 */
#include "export/readers/perf_mappings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

#define MAPPINGS_MAX 1000000
#define STEPS_MAX    4096 /* a file may have very many mappings of one process */

void perf_mappings_add(struct perf_mappings *m, const char *line, size_t len)
{
	static const char mark[] = "PERF_RECORD_MMAP";
	const char *at = memmem(line, len, mark, strlen(mark));
	unsigned long long start, size, file_off;
	int pid;

	if (!at || m->all.nr == MAPPINGS_MAX)
		return;
	at += strlen(mark);
	auto_free char *rest = xstrndup(at, (size_t)(line + len - at));
	const char *fields = rest + (*rest == '2');
	if (sscanf(fields, " %d/%*d: [%llx(%llx) @ %llx", &pid, &start, &size, &file_off) != 4)
		return;
	u64 *last = dict_add(&m->last, (u32)pid);
	vec_push(&m->all, (struct perf_mapping){ start, start + size, file_off, (u32)*last });
	*last = m->all.nr;
}

bool perf_mappings_find(const struct perf_mappings *m, u32 pid, u64 address, u64 *offset)
{
	const u64 *last = dict_find(&m->last, pid);
	u64 at = last ? *last : 0;

	for (int i = 0; at && i < STEPS_MAX; i++) {
		const struct perf_mapping *one = &m->all.at[at - 1];
		if (address >= one->start && address < one->end) {
			*offset = address - one->start + one->file_off;
			return true;
		}
		at = one->earlier;
	}
	return false;
}

void perf_mappings_fini(struct perf_mappings *m)
{
	vec_fini(&m->all);
	dict_fini(&m->last);
}
