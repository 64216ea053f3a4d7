/* SPDX-License-Identifier: Apache-2.0 */
/* The values that rules compare. */
#include "daemon/recorder/trigger_value.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "jvm/hotspot/gauges.h"
#include "jvm/process/vm_thread.h"
#include "proc/cgroup.h"
#include "proc/container.h"

#define TEXT_MAX    65536
#define THREADS_MAX 4096 /* of a JVM that are looked at */
#define MB          1e6

bool trigger_stat(const char *text, const char *key, u64 *out)
{
	size_t len = strlen(key);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, key, len) && line[len] == ' ')
			return sscanf(line + len, "%" SCNu64, out) == 1;
	return false;
}

bool trigger_pressure(const char *text, double *out)
{
	return sscanf(text, "some avg10=%lf", out) == 1 && *out >= 0 && *out <= 100;
}

/* Serial's work is done by the VM Thread. */
static bool collects(const char *comm)
{
	enum vm_work work = vm_work_of(comm);

	return work == WORK_GC || work == WORK_VM;
}

/* "PID (comm) S .. utime stime" */
static u64 gc_time(const char *stat)
{
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
	unsigned long user, system;

	if (!open || !close || !collects(open + 1) ||
	    sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		   &system) != 2)
		return 0;
	return (user + system) * (NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
}

static u64 read_gc(pid_t pid)
{
	auto_free char *path = xasprintf("/proc/%d/task", (int)pid);
	auto_closedir DIR *folder = opendir(path);
	u64 sum = 0, nr = 0;

	for (struct dirent *e; folder && nr < THREADS_MAX && (e = readdir(folder)); nr++) {
		auto_free char *file = xasprintf("%s/%s/stat", path, e->d_name), *stat = NULL;
		size_t len;
		if (*e->d_name != '.' && !file_read(file, TEXT_MAX, &stat, &len))
			sum += gc_time(stat);
	}
	return sum;
}

static int read_alloc(struct node *n, struct process *p, u64 *out)
{
	struct hotspot *h = node_jvm(n, p);
	struct gauge_places places = { 0 };
	struct gauges g = { 0 };
	int err = h ? gauges_read(h, &places, &g) : -ENOENT;

	if (!err && !g.knows_allocations)
		err = -ENOENT;
	*out = 0;
	if (!err)
		vec_each(t, &g.threads)
			*out += t->allocated_bytes;
	gauges_fini(&g);
	gauge_places_fini(&places);
	return err;
}

int trigger_read_jvm(struct node *n, struct process *p, enum trigger_what what,
		     struct trigger_counters *out)
{
	out->cpu_ns = time_process_ns(p->id.pid);
	if (what == TRIGGER_GC)
		out->gc_ns = read_gc(p->id.pid);
	return what == TRIGGER_ALLOC ? read_alloc(n, p, &out->allocated) : 0;
}

static int read_file(const char *folder, const char *name, char **out)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	size_t len;

	return file_read(path, TEXT_MAX, out, &len);
}

struct value_search {
	const char *text; /* name or id of a container */
	const char *controller;
	const struct cgroup_mounts *mounts;
	struct node *node;
	char *found;
};

static void find_container(struct process *p, void *ctx)
{
	struct value_search *s = ctx;
	const struct container *c = s->found ? NULL : node_container(s->node, p);
	auto_free char *path = xasprintf("/proc/%d/cgroup", (int)p->id.pid), *text = NULL;
	size_t len;

	if (!c || !container_matches(c, s->text) || file_read(path, TEXT_MAX, &text, &len))
		return;
	s->found = cgroup_folder(s->mounts, text, s->controller)
			   ?: cgroup_folder(s->mounts, text, NULL);
}

/*
 * The folder of the rule's group. In version 1 several hierarchies may have a group of that name:
 * of a container's groups, that of `controller` is preferred.
 */
static char *find_group(struct node *n, const struct trigger_rule *r,
			const struct cgroup_mounts *mounts, const char *controller)
{
	struct value_search s = { r->where_text, controller, mounts, n, NULL };
	u64 id;

	if (r->where == TRIGGER_CONTAINER) {
		node_each_process(n, find_container, &s);
		return s.found;
	}
	if (!access(r->where_text, F_OK))
		return xstrdup(r->where_text);
	const struct cgroup_mount *m = cgroup_find(mounts, r->where_text, &id);
	return m ? xasprintf("%s/%s", m->path, r->where_text) : NULL;
}

static int read_cpu_stat(const char *folder, struct trigger_counters *out)
{
	auto_free char *stat = NULL, *usage = NULL;
	u64 us;

	if (!read_file(folder, "cpu.stat", &stat)) {
		trigger_stat(stat, "nr_periods", &out->periods);
		trigger_stat(stat, "nr_throttled", &out->throttled);
		if (trigger_stat(stat, "usage_usec", &us)) {
			out->cpu_ns = us * 1000;
			return 0;
		}
	}
	if (!read_file(folder, "cpuacct.usage", &usage))
		out->cpu_ns = strtoull(usage, NULL, 10);
	return stat || usage ? 0 : -ENOENT;
}

static int read_pressure(const char *folder, const char *kind, double *out)
{
	auto_free char *name = folder ? xasprintf("%s.pressure", kind) : xstrdup(kind);
	auto_free char *text = NULL;

	return read_file(folder ?: "/proc/pressure", name, &text) || !trigger_pressure(text, out)
		       ? -ENOENT
		       : 0;
}

int trigger_read_group(struct node *n, const struct trigger_rule *r, struct trigger_counters *out)
{
	static const char *const pressures[NR_TRIGGER_WHATS] = {
		[TRIGGER_PSI_CPU] = "cpu",
		[TRIGGER_PSI_MEMORY] = "memory",
		[TRIGGER_PSI_IO] = "io",
	};
	const char *pressure = pressures[r->what];
	struct cgroup_mounts mounts = { 0 };

	if (r->where == TRIGGER_NODE)
		return pressure ? read_pressure(NULL, pressure, &out->pressure) : 0;
	int err = cgroup_mounts_read(&mounts);
	auto_free char *folder = err ? NULL
				     : find_group(n, r, &mounts,
						  pressure                 ? NULL
						  : r->what == TRIGGER_CPU ? "cpuacct"
									   : "cpu");
	cgroup_mounts_fini(&mounts);
	if (!folder)
		return -ENOENT;
	return pressure ? read_pressure(folder, pressure, &out->pressure)
			: read_cpu_stat(folder, out);
}

static u64 grown(u64 from, u64 to)
{
	return to > from ? to - from : 0;
}

static bool share(u64 part, u64 all, double *out)
{
	if (!all)
		return false;
	*out = 100.0 * (double)part / (double)all;
	return true;
}

bool trigger_waits(enum trigger_what what, const struct trigger_counters *from,
		   const struct trigger_counters *to)
{
	return what == TRIGGER_LOST && to->lost == from->lost && to->samples == from->samples;
}

bool trigger_value(enum trigger_what what, const struct trigger_counters *from,
		   const struct trigger_counters *to, u64 passed_ns, double *out)
{
	u64 lost = grown(from->lost, to->lost);

	switch (what) {
	case TRIGGER_CPU:
		return share(grown(from->cpu_ns, to->cpu_ns), passed_ns, out);
	case TRIGGER_GC:
		return share(grown(from->gc_ns, to->gc_ns), grown(from->cpu_ns, to->cpu_ns), out);
	case TRIGGER_ALLOC:
		*out = (double)grown(from->allocated, to->allocated) / MB * NS_PER_SEC /
		       (double)passed_ns;
		return passed_ns;
	case TRIGGER_THROTTLED:
		return share(grown(from->throttled, to->throttled),
			     grown(from->periods, to->periods), out);
	case TRIGGER_LOST:
		return share(lost, lost + grown(from->samples, to->samples), out);
	default:
		*out = to->pressure;
		return true;
	}
}
