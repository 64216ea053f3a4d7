/* SPDX-License-Identifier: Apache-2.0 */
/* The title of a profile. */
#include "export/format/title.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/format/labelset.h"

/* The PID of the target "--pid N", 0 for other targets. */
static u32 only_pid(const char *target)
{
	static const char option[] = "--pid ";
	char *end;

	if (strncmp(target, option, sizeof(option) - 1))
		return 0;
	unsigned long pid = strtoul(target + sizeof(option) - 1, &end, 10);
	return *end ? 0 : (u32)pid;
}

/* The labels of the only process, or of the process `pid`; NULL if there are others or none. */
static const struct labels *find_process(const struct profile *p, u32 pid)
{
	const struct labels *found = NULL;

	vec_each(l, &p->labels) {
		if (!l->pid || (pid && l->pid != pid))
			continue;
		if (found && found->pid != l->pid)
			return NULL;
		found = l;
	}
	return found;
}

/* "--pid 7 --comm a" as "pid 7, comm a". */
static void add_targets(const char *target, struct str *out)
{
	if (!strncmp(target, "--", 2))
		target += 2;
	for (const char *next; (next = strstr(target, " --")); target = next + 3) {
		str_add_bytes(out, target, (size_t)(next - target));
		str_add(out, ", ");
	}
	str_add(out, target);
}

void title_add(const struct profile *p, struct str *out)
{
	const struct labels *only = find_process(p, only_pid(p->target));

	if (*p->title) {
		str_add(out, p->title);
	} else if (only) {
		auto_free char *name = labelsets_shown(only, LABEL_COMM);
		str_add(out, name);
	} else if (*p->target) {
		add_targets(p->target, out);
	} else if (*p->host) {
		str_addf(out, "node %s", p->host);
	}
}
