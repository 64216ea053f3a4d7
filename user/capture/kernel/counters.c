/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of bpf/stat.h in words. */
#include "capture/kernel/counters.h"

#include <assert.h>
#include <string.h>

#include "stat.h"

static const struct counter counters[NR_STATS] = {
#define X(name, key, text, severity, reads, remedy) \
	[STAT_##name] = { key, text, SEVERITY_##severity, READING_##reads, remedy },
	STATS(X)
#undef X
};

const struct counter *counter_of(u32 stat)
{
	assert(stat < NR_STATS);
	return &counters[stat];
}

bool counter_is_cut(u32 stat)
{
	return stat >= STAT_FIRST_CUT && stat <= STAT_LAST_CUT;
}

const char *counter_reason(const struct counter *c)
{
	static const char common[] = "user stacks cut: ";

	return strncmp(c->text, common, sizeof(common) - 1) ? c->text
							    : c->text + sizeof(common) - 1;
}

const char *counter_cause(const struct counter *c)
{
	const char *colon = strstr(c->text, ": ");

	return colon ? colon + strlen(": ") : c->text;
}
