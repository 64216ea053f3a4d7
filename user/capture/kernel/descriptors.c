/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of open files. */
#include "capture/kernel/descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"

#define WANTED  65536 /* processes with agents, and probes by process, of a large node */
#define PROGRAM 96    /* BPF programs and their maps, files that are open for a moment */
#define PER_CPU 3     /* a ring of the side band; one clock or counter for each event */
#define REMEDY  "raise it by ulimit -n or LimitNOFILE=, or record with CAP_SYS_RESOURCE"

/* "Too many open files" without the limit does not say what to raise. */
static char error_text[256];

void descriptors_raise(u32 nr_events)
{
	u64 needed = PROGRAM + (u64)sysconf(_SC_NPROCESSORS_ONLN) * (PER_CPU + nr_events);
	struct rlimit limit, wanted;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	wanted.rlim_cur = wanted.rlim_max = limit.rlim_max > WANTED ? limit.rlim_max : WANTED;
	if (!setrlimit(RLIMIT_NOFILE, &wanted))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < needed)
		log_warn("this recording may need %llu open files, and the limit is %llu: " REMEDY,
			 (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
}

const char *descriptors_error_text(int err)
{
	struct rlimit limit;

	if (err != -EMFILE || getrlimit(RLIMIT_NOFILE, &limit))
		return strerror(-err);
	snprintf(error_text, sizeof(error_text),
		 "%llu files are open, as many as the limit allows: " REMEDY,
		 (unsigned long long)limit.rlim_cur);
	return error_text;
}

bool descriptors_are_few(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < PROGRAM;
}
