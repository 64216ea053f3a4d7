/* SPDX-License-Identifier: Apache-2.0 */
/* The load of the node between two readings, from /proc/stat and /proc/loadavg. */
#pragma once

#include "base/types.h"

struct node_load {
	int nr_cpus;
	double busy;    /* CPUs: 1.0 is one CPU all the time; negative at the first reading */
	double stolen;  /* CPUs that the hypervisor gave to others; negative as above */
	double load[3]; /* averages of 1, 5 and 15 minutes */
};

/* The times of all CPUs together, in ticks. */
struct cpu_ticks {
	u64 busy, stolen, all;
	int nr_cpus;
};

/* Parses /proc/stat. -EBADMSG if it has no line "cpu". */
int cpu_ticks_parse(const char *stat, struct cpu_ticks *out);

/* Reads now, and compares with *last, which is then replaced. */
int node_load_read(struct cpu_ticks *last, struct node_load *out);
