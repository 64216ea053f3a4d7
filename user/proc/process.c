/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the node. */
#include "proc/process.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/status.h"

struct processes {
	struct dict by_pid; /* pid -> struct process *, the newest of that PID */
};

struct processes *processes_new(void)
{
	return xcalloc(1, sizeof(struct processes));
}

static void process_free(struct process *p)
{
	mappings_fini(&p->mappings);
	dict_fini(&p->frames);
	free(p);
}

void processes_free(struct processes *all)
{
	if (!all)
		return;
	dict_each(slot, &all->by_pid)
		for (struct process *p = (void *)slot->value, *older; p; p = older) {
			older = p->older;
			process_free(p);
		}
	dict_fini(&all->by_pid);
	free(all);
}

bool process_is_start(u64 a_ns, u64 b_ns)
{
	u64 tick_ns = NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK);

	return a_ns / tick_ns == b_ns / tick_ns;
}

struct process *processes_newest(const struct processes *all, pid_t pid)
{
	u64 *p = dict_find(&all->by_pid, (u64)pid);

	return p ? (struct process *)*p : NULL;
}

static struct process *find(const struct processes *all, pid_t pid, u64 start_ns)
{
	struct process *p = processes_newest(all, pid);

	while (p && !process_is_start(p->start_ns, start_ns))
		p = p->older;
	return p;
}

static struct process *add(struct processes *all, pid_t pid, u64 start_ns, const char *comm)
{
	struct process *p = xcalloc(1, sizeof(*p));
	u64 *newest = dict_add(&all->by_pid, (u64)pid);

	p->pid = pid;
	p->start_ns = start_ns;
	p->older = (void *)*newest;
	copy_text(p->comm, sizeof(p->comm), comm);
	*newest = (u64)p;
	return p;
}

static bool is_libjvm(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash && !strcmp(slash + 1, "libjvm.so");
}

static void mappings_changed(struct process *p)
{
	dict_fini(&p->frames);
	for (size_t i = 0; i < p->mappings.nr && !p->is_jvm; i++)
		p->is_jvm = is_libjvm(&p->mappings.at[i]);
}

/* A process that ended keeps what was known of it. */
static void read_mappings(struct process *p)
{
	struct mappings fresh = { 0 };

	p->mappings_stale = false;
	if (mappings_read(p->pid, true, &fresh) || !fresh.nr)
		return;
	mappings_fini(&p->mappings);
	p->mappings = fresh;
	mappings_changed(p);
}

/* Reads a running process from /proc; NULL if it is gone. */
static struct process *add_running(struct processes *all, pid_t pid)
{
	struct proc_status status;

	if (proc_status_read(pid, &status))
		return NULL;
	if (find(all, pid, status.start_ns))
		return NULL;
	struct process *p = add(all, pid, status.start_ns, status.comm);
	read_mappings(p);
	return p;
}

int processes_scan(struct processes *all)
{
	auto_closedir DIR *proc = opendir("/proc");
	if (!proc)
		return -errno;

	int nr = 0;
	for (struct dirent *e; (e = readdir(proc));) {
		pid_t pid = atoi(e->d_name);
		if (pid > 0 && add_running(all, pid))
			nr++;
	}
	return nr;
}

struct process *processes_get(struct processes *all, pid_t pid, u64 start_ns, const char *comm)
{
	struct process *p = find(all, pid, start_ns);

	if (!p) {
		p = add_running(all, pid);
		if (p && !process_is_start(p->start_ns, start_ns))
			p = NULL;
	}
	return p ?: add(all, pid, start_ns, comm);
}

void processes_fork(struct processes *all, pid_t parent, pid_t pid, u64 start_ns, const char *comm)
{
	const struct process *from = processes_newest(all, parent);

	if (find(all, pid, start_ns))
		return;
	struct process *p = add(all, pid, start_ns, comm);
	if (from) {
		mappings_copy(&from->mappings, &p->mappings);
		p->mappings_stale = from->mappings_stale;
		mappings_changed(p);
	}
}

void processes_rename(struct processes *all, pid_t pid, const char *comm)
{
	struct process *p = processes_newest(all, pid);

	if (p)
		copy_text(p->comm, sizeof(p->comm), comm);
}

void processes_exec(struct processes *all, pid_t pid)
{
	struct process *p = processes_newest(all, pid);

	if (p) {
		mappings_fini(&p->mappings);
		p->is_jvm = false;
		mappings_changed(p);
	}
}

void processes_mmap(struct processes *all, pid_t pid, const struct mapping *m)
{
	struct process *p = processes_newest(all, pid);

	if (p) {
		mappings_insert(&p->mappings, m);
		mappings_changed(p);
	}
}

void processes_exit(struct processes *all, pid_t pid, u64 start_ns, u64 time_ns)
{
	struct process *p = find(all, pid, start_ns);

	if (p)
		p->exit_ns = time_ns;
}

void processes_distrust(struct processes *all)
{
	dict_each(slot, &all->by_pid)
		((struct process *)slot->value)->mappings_stale = true;
}

void process_refresh(struct process *p)
{
	if (p->mappings_stale && !p->exit_ns)
		read_mappings(p);
}

/* Takes the ended ones out of a PID's chain; returns the chain's new head. */
static struct process *reap_chain(struct process *p, u64 time_ns)
{
	if (!p)
		return NULL;
	p->older = reap_chain(p->older, time_ns);
	if (!p->exit_ns || p->exit_ns >= time_ns)
		return p;
	struct process *older = p->older;
	process_free(p);
	return older;
}

void processes_reap(struct processes *all, u64 time_ns)
{
	VEC(u64) empty = { 0 };

	dict_each(slot, &all->by_pid) {
		slot->value = (u64)reap_chain((void *)slot->value, time_ns);
		if (!slot->value)
			vec_push(&empty, slot->key);
	}
	vec_each(pid, &empty)
		dict_remove(&all->by_pid, *pid);
	vec_fini(&empty);
}

void processes_each(struct processes *all, void (*visit)(struct process *p, void *ctx), void *ctx)
{
	dict_each(slot, &all->by_pid)
		for (struct process *p = (void *)slot->value; p; p = p->older)
			visit(p, ctx);
}
