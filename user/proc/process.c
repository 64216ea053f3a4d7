/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the node. */
#include "proc/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/blocking.h"
#include "proc/mem.h"
#include "proc/status.h"
#include "proc/target_file.h"
#include "sandbox/rights.h"

/* how long a lookup counts: later the process may have been moved */
#define CONTAINER_HOLDS_NS (2 * NS_PER_SEC)
/* pause after there was no room: each try takes as long as a successful one */
#define LEFT_OUT_HOLDS_NS (5 * NS_PER_SEC)
/*
 * Limits of process_find_mapping: all searches take one part in SEARCH_SHARE of the time, and
 * SEARCH_CREDIT_NS at once; a search reads so many bytes of one process.
 */
#define SEARCH_SHARE      50
#define SEARCH_CREDIT_NS  (s64)(50 * NS_PER_MS)
#define SEARCH_BYTES      (4u << 20)
#define SEARCH_BLOCKED_NS (20 * NS_PER_MS)
#define SEARCH_LONG_NS    (10 * NS_PER_MS)
#define FORKS_MAX         8    /* forks of forks of a JVM, none of which executed a program */
#define GENERATIONS_MAX   16   /* of ancestors that are looked at */
#define MAPPINGS_UNREAD   4096 /* mappings added since the last read, besides as many as it had */

struct processes {
	struct dict by_pid; /* pid -> struct process *, the newest of that PID */
	struct mapping_budget budget;
	struct processes_left_out left_out;
	struct slow_users slow_users; /* whose mappings could not be read in time */
	struct {
		s64 credit_ns;
		u64 since_ns; /* the credit grows from this time on */
	} searches;           /* of process_find_mapping */
};

struct processes *processes_new(void)
{
	return xcalloc(1, sizeof(struct processes));
}

/* Updates the view of the list after p->block has changed. */
static void show_block(struct process *p)
{
	p->mappings = p->block ? p->block->all : (struct mappings){ 0 };
	p->mappings_version++;
}

static void drop_mappings(struct process *p)
{
	mapping_block_drop(&p->all->budget, take(p->block));
	show_block(p);
}

void process_context_fini(struct process_context *c)
{
	free(c->service);
	free(c->instance);
	free(c->environment);
	free(c->version);
	for (u32 i = 0; i < c->nr_keys; i++)
		free(c->keys[i]);
	free(c->keys);
	*c = (struct process_context){ 0 };
}

static void forget_names(struct process *p)
{
	struct process_names *n = &p->names;

	free(n->main_class);
	free(n->own_service);
	free(n->main);
	free(n->service);
	free(n->jvm);
	free(n->container);
	*n = (struct process_names){ 0 };
	process_context_fini(&p->context);
}

static void process_free(struct process *p)
{
	drop_mappings(p);
	forget_names(p);
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
	mapping_budget_fini(&all->budget);
	slow_users_fini(&all->slow_users);
	dict_fini(&all->by_pid);
	free(all);
}

size_t processes_nr(const struct processes *all)
{
	return all->by_pid.nr;
}

size_t processes_bytes(const struct processes *all)
{
	return all->budget.bytes;
}

struct process *processes_newest(const struct processes *all, pid_t pid)
{
	u64 *p = dict_find(&all->by_pid, (u64)pid);

	return p ? (struct process *)*p : NULL;
}

struct process *processes_find(const struct processes *all, struct process_id id)
{
	struct process *p = processes_newest(all, id.pid);

	while (p && !process_id_same(p->id, id))
		p = p->older;
	return p;
}

static void be_own_jvm(struct process *p)
{
	p->jvm.pid = p->id.pid;
	p->jvm.start_ns = p->id.start_ns;
}

static void be_fork_of(struct process *p, const struct process *from)
{
	if (!from->is_jvm)
		return;
	p->jvm.pid = from->jvm.pid;
	p->jvm.start_ns = from->jvm.start_ns;
}

static struct process *add(struct processes *all, struct process_id id, const char *comm)
{
	struct process *p = xcalloc(1, sizeof(*p));
	u64 *newest = dict_add(&all->by_pid, (u64)id.pid);

	p->all = all;
	p->id.pid = id.pid;
	p->id.start_ns = id.start_ns;
	p->program_ns = id.start_ns;
	be_own_jvm(p);
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

static void look_for_libjvm(struct process *p)
{
	for (size_t i = 0; i < p->mappings.nr && !p->is_jvm; i++)
		p->is_jvm = is_libjvm(&p->mappings.at[i]);
}

static void leave_out(struct process *p)
{
	struct processes_left_out *l = &p->all->left_out;

	if (!p->left_out_ns && !l->nr++) {
		l->uid = p->uid;
		l->pid = p->id.pid;
		memcpy(l->comm, p->comm, sizeof(l->comm));
	}
	p->left_out_ns = time_mono_ns();
}

/* The bytes that a new list may take if it replaces the process's own list. */
static size_t room_of(const struct process *p)
{
	size_t own = p->block && p->block->nr_processes == 1 && p->block->uid == p->uid
			     ? p->block->bytes
			     : 0;

	return mapping_budget_room(&p->all->budget, p->uid) + own;
}

/* Carries the mark is_copy over from the old list to the new one. */
static void keep_copies(const struct mappings *old, struct mappings *fresh)
{
	vec_each(m, old) {
		const struct mapping *now = m->is_copy ? mappings_find(fresh, m->start) : NULL;
		if (now && !now->inode && !now->writable && now->end >= m->end)
			mappings_insert(fresh, m);
	}
}

/*
 * Reads the mappings. Keeps the known ones if the process has ended, or if there is no room for the
 * present ones.
 */
static void read_mappings(struct process *p)
{
	struct mappings fresh = { 0 };
	size_t room = room_of(p), head = sizeof(struct mapping_block);

	struct slow_users *slow = &p->all->slow_users;
	struct mappings_limits limits = { room - head, MAPPINGS_BLOCKED_NS, 0 };

	p->mappings_stale = false;
	int err = room < head ? -E2BIG
		  : slow_users_is_over(slow, p->uid)
			  ? -ETIMEDOUT
			  : mappings_read_within(p->id.pid, true, &limits, &fresh);
	if (limits.blocked_ns)
		slow_users_charge(slow, p->uid, limits.blocked_ns);
	if (err == -E2BIG || err == -ETIMEDOUT)
		leave_out(p);
	if (err || !fresh.nr)
		return;
	keep_copies(&p->mappings, &fresh);
	mapping_block_drop(&p->all->budget, take(p->block));
	p->nr_mappings_read = fresh.nr;
	p->block = mapping_block_new(&p->all->budget, p->uid, &fresh);
	show_block(p);
	look_for_libjvm(p);
}

static struct process *add_running(struct processes *all, pid_t pid, u32 nr_forks);

/*
 * Until its own exec, a fork executes its parent's program with one thread; its first stack began
 * where the parent's did. A JVM that a JVM started has more threads, and another stack if addresses
 * are randomized. A user's chain of forks is followed for `nr_forks` only.
 */
static void find_forked_jvm(struct process *p, const struct proc_status *status, u32 nr_forks)
{
	struct proc_status parent;

	if (!p->is_jvm || !status->start_stack || status->nr_threads != 1 ||
	    proc_status_read(status->parent_pid, &parent) ||
	    parent.start_stack != status->start_stack)
		return;
	const struct process *from = processes_find(p->all, proc_status_id(&parent));
	if (!from && nr_forks)
		from = add_running(p->all, parent.pid, nr_forks - 1);
	if (from)
		be_fork_of(p, from);
}

/* Reads a running process from /proc, and up to `nr_forks` JVMs that forked it; NULL if gone. */
static struct process *add_running(struct processes *all, pid_t pid, u32 nr_forks)
{
	struct proc_status status;

	if (proc_status_read(pid, &status))
		return NULL;
	if (processes_find(all, proc_status_id(&status)))
		return NULL;
	struct process *p = add(all, proc_status_id(&status), status.comm);
	p->uid = status.uid;
	p->parent = status.parent_pid;
	read_mappings(p);
	find_forked_jvm(p, &status, nr_forks);
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
		if (pid > 0 && add_running(all, pid, FORKS_MAX))
			nr++;
	}
	return nr;
}

struct process *processes_get(struct processes *all, struct process_id id, const char *comm)
{
	struct process *p = processes_find(all, id);

	if (!p) {
		p = add_running(all, id.pid, FORKS_MAX);
		if (p && !process_id_same(p->id, id))
			p = NULL;
	}
	return p ?: add(all, id, comm);
}

struct process *processes_fork(struct processes *all, pid_t parent, struct process_id id,
			       const char *comm)
{
	const struct process *from = processes_newest(all, parent);
	struct process *p = processes_find(all, id);

	if (p) { /* already read from /proc */
		if (from)
			be_fork_of(p, from);
		return p;
	}
	p = add(all, id, comm);
	p->parent = parent;
	if (from) {
		p->uid = from->uid;
		p->block = mapping_block_share(from->block);
		show_block(p);
		p->is_jvm = from->is_jvm;
		p->left_out_ns = from->left_out_ns;
		p->nr_mappings_read = from->nr_mappings_read;
		p->mappings_stale = from->mappings_stale;
		p->container = from->container;
		be_fork_of(p, from);
	}
	return p;
}

/* The PID may have been used again since: a parent began before its child. */
static const struct process *parent_of(const struct process *p)
{
	const struct process *parent = p->parent ? processes_newest(p->all, p->parent) : NULL;

	while (parent && parent->id.start_ns / PROC_TICK_NS > p->id.start_ns / PROC_TICK_NS)
		parent = parent->older;
	return parent;
}

struct ancestors process_ancestors(const struct process *p)
{
	struct ancestors out = { 0 };
	size_t nr = 0;

	for (int i = 0; i < GENERATIONS_MAX && nr < ANCESTORS_MAX && (p = parent_of(p)); i++)
		if (!p->exit_ns)
			out.at[nr++] = p->id.pid;
	return out;
}

void process_set_user(struct process *p, uid_t uid)
{
	p->uid = uid;
	mapping_block_move(&p->all->budget, p->block, uid);
}

const struct processes_left_out *processes_left_out(const struct processes *all)
{
	return &all->left_out;
}

void process_rename(struct process *p, const char *comm)
{
	if (p->keeps_comm || !strcmp(p->comm, comm))
		return;
	copy_text(p->comm, sizeof(p->comm), comm);
	p->names.facts = 0; /* some names contain the comm */
}

void process_keep_name(struct process *p)
{
	p->keeps_comm = true;
}

void process_set_name(struct process *p, const char *comm)
{
	p->keeps_comm = false;
	process_rename(p, comm);
}

void process_exec(struct process *p, u64 boot_ns)
{
	drop_mappings(p);
	p->left_out_ns = 0;
	p->nr_mappings_read = 0;
	p->is_jvm = false;
	p->program_ns = boot_ns;
	be_own_jvm(p);
	p->container_ns = 0;
	p->has_side_exec = true;
	p->has_samples = false;
	forget_names(p);
}

/* A process that has ended keeps its last container, or its parent's. */
const struct container *process_container(struct process *p, struct containers *all)
{
	u64 now = time_mono_ns();

	if (!p->container_ns || now - p->container_ns > CONTAINER_HOLDS_NS) {
		p->container_ns = now;
		containers_of(all, p->id.pid, &p->container);
	}
	return p->container;
}

void process_mmap(struct process *p, const struct mapping *m)
{
	size_t most = 2 * p->nr_mappings_read + MAPPINGS_UNREAD;

	if (is_libjvm(m)) {
		p->is_jvm = true;
		be_own_jvm(p);
	}
	if (p->mappings.nr >= most)
		p->mappings_stale = true;
	else if (!mapping_block_insert(&p->all->budget, &p->block, p->uid, m))
		leave_out(p);
	show_block(p);
}

void processes_distrust(struct processes *all)
{
	dict_each(slot, &all->by_pid)
		((struct process *)slot->value)->mappings_stale = true;
}

/*
 * A process may have thousands of mappings, and each may have a search of its own. A search runs if
 * there is credit, and takes its time from it.
 */
static bool has_credit(struct processes *all, u64 now_ns)
{
	s64 more_ns = all->searches.since_ns
			      ? (s64)((now_ns - all->searches.since_ns) / SEARCH_SHARE)
			      : SEARCH_CREDIT_NS;

	all->searches.since_ns = now_ns;
	all->searches.credit_ns += more_ns;
	if (all->searches.credit_ns > SEARCH_CREDIT_NS)
		all->searches.credit_ns = SEARCH_CREDIT_NS;
	return all->searches.credit_ns > 0;
}

static u64 find_named(const struct mappings *all, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < all->nr; i++)
		for (size_t name = 0; name < nr; name++)
			if (!strncmp(all->at[i].path, names[name], strlen(names[name])))
				return all->at[i].start;
	return 0;
}

int process_read_mappings(struct process *p, struct mappings *out)
{
	struct slow_users *slow = &p->all->slow_users;
	struct mappings_limits limits = { SEARCH_BYTES, SEARCH_BLOCKED_NS, 0 };
	u64 worked_ns = time_worked_ns();

	if (!has_credit(p->all, time_mono_ns()))
		return -EAGAIN;
	if (slow_users_is_over(slow, p->uid))
		return -ETIMEDOUT;
	int err = mappings_read_within(p->id.pid, false, &limits, out);
	if (limits.blocked_ns)
		slow_users_charge(slow, p->uid, limits.blocked_ns);
	/* Not the time: on a busy machine little of it is ours. */
	p->all->searches.credit_ns -= (s64)(time_worked_ns() - worked_ns);
	return err;
}

void process_charge_search(const struct process *p, u64 took_ns, u64 worked_ns)
{
	if (took_ns > SEARCH_LONG_NS)
		slow_users_charge(&p->all->slow_users, p->uid, took_ns);
	else
		p->all->searches.credit_ns -= (s64)worked_ns;
}

int process_find_mapping(struct process *p, const char *const *names, size_t nr, u64 *out)
{
	struct mappings found = { 0 };
	int err = process_read_mappings(p, &found);

	if (!err)
		*out = find_named(&found, names, nr);
	mappings_fini(&found);
	return err;
}

void process_refresh(struct process *p)
{
	if (!p->mappings_stale || p->exit_ns)
		return;
	if (!p->left_out_ns || time_mono_ns() - p->left_out_ns > LEFT_OUT_HOLDS_NS)
		read_mappings(p);
}

void processes_reap(struct processes *all, u64 time_ns, process_fn gone, void *ctx)
{
	VEC(u64) empty = { 0 };

	dict_each(slot, &all->by_pid) {
		struct process *kept = NULL, **last = &kept;
		for (struct process *p = (void *)slot->value, *older; p; p = older) {
			older = p->older;
			p->older = NULL;
			if (!p->exit_ns || p->exit_ns >= time_ns) {
				*last = p;
				last = &p->older;
				continue;
			}
			if (gone)
				gone(p, ctx);
			process_free(p);
		}
		slot->value = (u64)kept;
		if (!kept)
			vec_push(&empty, slot->key);
	}
	vec_each(pid, &empty)
		dict_remove(&all->by_pid, *pid);
	vec_fini(&empty);
}

/* A PID of /proc may also be that of a thread: the process is then found a minute later. */
static bool is_in_proc(int proc_fd, pid_t pid)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", (int)pid);
	return proc_fd < 0 || !faccessat(proc_fd, name, F_OK, 0) || errno != ENOENT;
}

void processes_find_lost(struct processes *all, process_fn lost, void *ctx)
{
	auto_close int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	dict_each(slot, &all->by_pid) {
		struct process *newest = (void *)slot->value;
		for (struct process *p = newest; p; p = p->older)
			if (!p->exit_ns && (p != newest || !is_in_proc(proc_fd, p->id.pid)))
				lost(p, ctx);
	}
}

void processes_each(struct processes *all, process_fn visit, void *ctx)
{
	dict_each(slot, &all->by_pid)
		for (struct process *p = (void *)slot->value; p; p = p->older)
			visit(p, ctx);
}

static bool is_denial(int err)
{
	return err == -EACCES || err == -EPERM;
}

static bool may_open(pid_t pid, const char *name, int flags)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	auto_close int fd = open(path, flags | O_CLOEXEC);
	return fd >= 0 || !is_denial(-errno);
}

static bool may_read_memory(const struct process *p)
{
	struct mem *m;
	int err = mem_open(p->id, &m);

	if (!err)
		mem_free(m);
	return !is_denial(err);
}

/* Checks the file mapped at `pc`, through the process's root or ours. */
static u64 missing_for_file(const struct process *p, u64 pc)
{
	const struct mapping *m = mappings_find(&p->mappings, pc);

	if (!m || m->path[0] != '/')
		return 0;
	int fd = mapped_file_open(p->id.pid, m);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (file_access(m->path, R_OK) == -EACCES)
		return CAPABILITY(CAP_DAC_READ_SEARCH) & ~capabilities_read();
	return may_open(p->id.pid, "root", O_PATH) ? 0 : CAPABILITY(CAP_SYS_PTRACE);
}

u64 reading_lacks(enum reading reading, const struct process *p, u64 pc)
{
	if (capability_has(CAP_SYS_PTRACE) &&
	    (reading != READING_FILES || capability_has(CAP_DAC_READ_SEARCH)))
		return 0;
	switch (reading) {
	case READING_MAPPINGS:
		return may_open(p->id.pid, "maps", O_RDONLY) ? 0 : CAPABILITY(CAP_SYS_PTRACE);
	case READING_MEMORY:
		return may_read_memory(p) ? 0 : CAPABILITY(CAP_SYS_PTRACE);
	case READING_FILES:
		return missing_for_file(p, pc);
	default:
		return 0;
	}
}
