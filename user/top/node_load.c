/* SPDX-License-Identifier: Apache-2.0 */
/* The load of the node between two readings. */
#include "top/node_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"

#define STAT_MAX (4u << 20) /* a line per CPU and a long one of interrupts */

int cpu_ticks_parse(const char *stat, struct cpu_ticks *out)
{
	u64 user, nice, system, idle, waits, irq, softirq, stolen = 0;
	struct cpu_ticks now = { 0 };

	if (sscanf(stat,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &user, &nice, &system, &idle, &waits, &irq, &softirq, &stolen) < 7)
		return -EBADMSG;
	now.busy = user + nice + system + irq + softirq;
	now.stolen = stolen;
	now.all = now.busy + stolen + idle + waits;
	for (const char *at = stat; (at = strstr(at, "\ncpu")); at += 4)
		now.nr_cpus++;
	*out = now;
	return 0;
}

static void compare(const struct cpu_ticks *last, const struct cpu_ticks *now,
		    struct node_load *out)
{
	out->nr_cpus = now->nr_cpus;
	out->busy = out->stolen = -1;
	if (!last->all || now->all <= last->all || now->busy < last->busy ||
	    now->stolen < last->stolen)
		return;
	double each = (double)now->nr_cpus / (double)(now->all - last->all);
	out->busy = (double)(now->busy - last->busy) * each;
	out->stolen = (double)(now->stolen - last->stolen) * each;
}

int node_load_read(struct cpu_ticks *last, struct node_load *out)
{
	auto_free char *stat = NULL, *averages = NULL;
	struct cpu_ticks now;
	size_t len;

	int err = file_read("/proc/stat", STAT_MAX, &stat, &len) ?: cpu_ticks_parse(stat, &now);
	if (err)
		return err;
	compare(last, &now, out);
	*last = now;
	err = file_read("/proc/loadavg", 256, &averages, &len);
	if (!err &&
	    sscanf(averages, "%lf %lf %lf", &out->load[0], &out->load[1], &out->load[2]) != 3)
		err = -EBADMSG;
	return err;
}
