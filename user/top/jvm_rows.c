/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the numbers of all JVMs: the CPU time and memory that each used between two readings, and
 * its name.
 */
#include "top/jvm_rows.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "base/types.h"
#include "base/vec.h"
#include "jvm/hotspot/gauges.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/hotspot/legibility.h"
#include "jvm/hotspot/virtual_threads.h"
#include "jvm/process/javaproc.h"
#include "jvm/process/main_class.h"
#include "jvm/process/vm_thread.h"
#include "proc/status.h"
#include "top/alloc_meter.h"

#define SEARCH_NS (5 * NS_PER_SEC) /* between searches of /proc, without a node */
/* characters of its id that are shown for a container without a name */
#define CONTAINER_ID  12
#define JVMS_MAX      4096
#define VIRTUAL_TRIES 50
#define VIRTUAL_MOST  256 /* virtual threads looked at in a reading; the others are estimated */

struct timed_thread {
	pid_t tid, inner;
	enum vm_work work;
	u8 nr_looks;
	u64 run_ns, round;
};

/* The CPU time of a JVM's own threads: those that collect garbage, and those that compile. */
struct thread_times {
	VEC(struct timed_thread) threads;
	struct dict by_tid; /* tid -> index + 1 */
	u64 round;
	bool has_begun, knows_names;
	u64 ns[NR_VM_WORKS]; /* since the first reading; never smaller than before */
};

#define LOOKS_MAX     3 /* looks at a thread's name: it gets the name soon after its start */
#define SCHEDSTAT_MAX 128
#define THREADS_MAX   100000

static struct timed_thread *find_thread(struct thread_times *t, pid_t tid)
{
	u64 *at = dict_add(&t->by_tid, (u64)tid);

	if (!*at) {
		vec_push(&t->threads, (struct timed_thread){ .tid = tid, .inner = tid });
		*at = t->threads.nr;
	}
	return &t->threads.at[*at - 1];
}

static void look(struct timed_thread *one)
{
	struct proc_status status;

	if (one->nr_looks == LOOKS_MAX || proc_status_read(one->tid, &status))
		return;
	one->nr_looks++;
	one->inner = status.nspid;
	one->work = vm_work_of(status.comm);
}

/* The time on a CPU in ns; /proc/PID/stat has only ticks. */
static bool read_run_ns(pid_t pid, pid_t tid, u64 *out)
{
	auto_free char *text = NULL;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	return !file_read(path, SCHEDSTAT_MAX, &text, &len) && sscanf(text, "%" SCNu64, out) == 1;
}

static void add_time(struct thread_times *t, pid_t pid, struct timed_thread *one)
{
	u64 now;

	if (one->work == WORK_OTHER || !read_run_ns(pid, one->tid, &now) || now < one->run_ns)
		return;
	if (t->has_begun)
		t->ns[one->work] += now - one->run_ns;
	one->run_ns = now;
}

/* Forgets threads that were not there in this round. */
static void drop_ended_threads(struct thread_times *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->threads.nr; i++) {
		struct timed_thread one = t->threads.at[i];
		if (one.round != t->round) {
			dict_remove(&t->by_tid, (u64)one.tid);
			continue;
		}
		t->threads.at[nr++] = one;
		*dict_add(&t->by_tid, (u64)one.tid) = nr;
	}
	t->threads.nr = nr;
}

/*
 * Reads the threads of a process. is_java(tid) says whether a thread can run Java code; `tid` is
 * that of the process's pid namespace. Such a thread collects no garbage, whatever its name is.
 */
static void thread_times_read(struct thread_times *t, pid_t pid,
			      bool (*is_java)(pid_t inner, void *ctx), void *ctx)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	auto_closedir DIR *dir = opendir(path);
	if (!dir)
		return;
	t->round++;
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || t->threads.nr >= THREADS_MAX)
			continue;
		struct timed_thread *one = find_thread(t, atoi(e->d_name));
		one->round = t->round;
		look(one);
		t->knows_names |= one->work == WORK_VM;
		if (one->work == WORK_GC && is_java(one->inner, ctx))
			one->work = WORK_OTHER;
		add_time(t, pid, one);
	}
	drop_ended_threads(t);
	t->has_begun = true;
}

static void thread_times_fini(struct thread_times *t)
{
	vec_fini(&t->threads);
	dict_fini(&t->by_tid);
}

/* Measures what a JVM uses from one reading to the next. */
struct jvm_meter {
	struct process_id id;
	struct gauge_places places;
	struct gauges gauges;
	struct alloc_meter alloc;
	struct thread_times times;
	struct virtual_threads *virtual;
	struct dict java_tids; /* of this reading, in its pid namespace */
	u64 at_ns, cpu_ns;     /* of the last reading; 0: none */
	u64 alloc_ns;          /* of the last reading of its memory; 0: none */
};

static struct jvm_meter *jvm_meter_new(struct process_id id)
{
	struct jvm_meter *m = xcalloc(1, sizeof(*m));

	m->id = id;
	m->virtual = virtual_threads_new();
	return m;
}

static void jvm_meter_free(struct jvm_meter *m)
{
	if (!m)
		return;
	gauge_places_fini(&m->places);
	gauges_fini(&m->gauges);
	alloc_meter_fini(&m->alloc);
	thread_times_fini(&m->times);
	virtual_threads_free(m->virtual);
	dict_fini(&m->java_tids);
	free(m);
}

static struct process_id jvm_meter_id(const struct jvm_meter *m)
{
	return m->id;
}

static double rate(u64 now, u64 before, u64 passed_ns)
{
	return passed_ns && now >= before ? (double)(now - before) / (double)passed_ns
					  : RATE_UNKNOWN;
}

static bool is_java(pid_t inner, void *ctx)
{
	return dict_find(ctx, (u64)inner) != NULL;
}

static void read_virtual(struct jvm_meter *m, struct hotspot *h, struct jvm_row *out)
{
	const struct virtual_look look = { .most = VIRTUAL_MOST };
	struct virtual_counts counts;
	int err = -EAGAIN;

	/* At first each try searches some of the JVM's classes. */
	for (int i = 0; err == -EAGAIN && i < VIRTUAL_TRIES; i++)
		err = virtual_threads_look(m->virtual, h, &look, &counts);
	if (!err)
		out->virtual = virtual_counts_total(&counts);
}

static void read_memory(struct jvm_meter *m, struct hotspot *h, u64 now_ns, struct jvm_row *out)
{
	u64 before = m->alloc.total, partial = m->alloc.nr_partial;

	if (!h || gauges_read(h, &m->places, &m->gauges))
		return;
	read_virtual(m, h, out);
	dict_fini(&m->java_tids);
	vec_each(t, &m->gauges.threads) {
		dict_add(&m->java_tids, (u64)t->inner_tid);
		out->threads[t->state]++;
	}
	out->nr_threads = m->gauges.knows_states ? (u32)m->gauges.threads.nr : 0;
	out->heap_used = m->gauges.heap_used;
	out->heap_committed = m->gauges.heap_committed;
	out->collections = m->gauges.collections;
	if (!m->gauges.knows_allocations)
		return;
	alloc_meter_add(&m->alloc, &m->gauges);
	if (m->alloc_ns)
		out->alloc = rate(m->alloc.total, before, now_ns - m->alloc_ns);
	if (out->alloc >= 0)
		out->alloc *= (double)NS_PER_SEC;
	out->alloc_is_least = m->alloc.nr_partial != partial;
	m->alloc_ns = now_ns;
}

static void read_times(struct jvm_meter *m, bool is_serial, u64 passed_ns, struct jvm_row *out)
{
	u64 before[NR_VM_WORKS];

	memcpy(before, m->times.ns, sizeof(before));
	thread_times_read(&m->times, m->id.pid, is_java, &m->java_tids);
	if (!m->times.knows_names || !m->at_ns)
		return;
	const u64 *now = m->times.ns;
	out->gc = rate(now[WORK_GC], before[WORK_GC], passed_ns);
	out->jit = rate(now[WORK_JIT], before[WORK_JIT], passed_ns);
	if (is_serial && out->gc >= 0)
		out->gc += rate(now[WORK_VM], before[WORK_VM], passed_ns);
}

/*
 * Takes a reading at `now_ns` (CLOCK_MONOTONIC) and fills in the numbers of *out and its identity.
 * The texts are the caller's. `h` is NULL if its memory cannot be read.
 */
static void jvm_meter_read(struct jvm_meter *m, struct hotspot *h, u64 now_ns, struct jvm_row *out)
{
	u64 passed_ns = m->at_ns ? now_ns - m->at_ns : 0, cpu_ns = time_process_ns(m->id.pid);

	out->id = m->id;
	out->cpu = out->gc = out->jit = out->alloc = RATE_UNKNOWN;
	out->heap_used = out->heap_committed = out->collections = GAUGE_UNKNOWN;
	out->cpu = rate(cpu_ns, m->cpu_ns, passed_ns);
	read_memory(m, h, now_ns, out);
	read_times(m, out->collector && !strcmp(out->collector, "Serial"), passed_ns, out);
	out->allocated_bytes = m->alloc.total;
	out->partial_threads = m->alloc.nr_partial;
	m->at_ns = now_ns;
	m->cpu_ns = cpu_ns;
}

/* A JVM of the last readings. */
struct watched {
	struct jvm_meter *meter;
	char *name, *container, *jdk, *collector, *gap;
	struct hotspot *own; /* without a node */
	bool is_there;
};

struct jvm_rows {
	const pid_t *pids;
	size_t nr_pids;
	VEC(struct watched) jvms;
	u64 searched_ns;
	/* Of this reading. */
	struct node *node;
	u64 now_ns;
	struct board *board;
};

struct jvm_rows *jvm_rows_new(const pid_t *pids, size_t nr_pids)
{
	struct jvm_rows *r = xcalloc(1, sizeof(*r));

	r->pids = pids;
	r->nr_pids = nr_pids;
	return r;
}

static void free_jvm(struct watched *j)
{
	jvm_meter_free(j->meter);
	hotspot_free(j->own);
	free(j->name);
	free(j->container);
	free(j->jdk);
	free(j->collector);
	free(j->gap);
}

void jvm_rows_free(struct jvm_rows *r)
{
	if (!r)
		return;
	vec_each(j, &r->jvms)
		free_jvm(j);
	vec_fini(&r->jvms);
	free(r);
}

static bool is_wanted(const struct jvm_rows *r, pid_t pid)
{
	for (size_t i = 0; i < r->nr_pids; i++)
		if (r->pids[i] == pid)
			return true;
	return !r->nr_pids;
}

/* The JVM's entry, a new one if it is new; NULL if it is not wanted. */
static struct watched *find(struct jvm_rows *r, struct process_id id)
{
	vec_each(j, &r->jvms)
		if (process_id_same(jvm_meter_id(j->meter), id))
			return j;
	if (!is_wanted(r, id.pid) || r->jvms.nr == JVMS_MAX)
		return NULL;
	struct watched new = { .meter = jvm_meter_new(id) };
	vec_push(&r->jvms, new);
	return &r->jvms.at[r->jvms.nr - 1];
}

static void set(char **to, const char *text, size_t max)
{
	struct str clean = { 0 };

	utf8_clean(&clean, text, max);
	free(*to);
	*to = str_take(&clean);
}

/* Fills in version and collector once the JVM's memory can be read. */
static void describe(struct watched *j, const struct hotspot *h)
{
	struct hotspot_info info;

	hotspot_info(h, &info);
	if (info.jdk == 8) /* for JDK 8 the release is HotSpot's own, "25.504-b08" */
		set(&j->jdk, "8", SIZE_MAX);
	else if (*info.release)
		set(&j->jdk, info.release, strcspn(info.release, "+-"));
	set(&j->collector, info.collector, 32);
}

static void read_jvm(struct jvm_rows *r, struct watched *j, struct hotspot *h)
{
	struct jvm_row row = { 0 };

	if (h && (!j->collector || !*j->collector))
		describe(j, h);
	row.collector = j->collector ?: "";
	jvm_meter_read(j->meter, h, r->now_ns, &row);
	row.name = j->name ?: "?";
	row.container = j->container ?: "";
	row.jdk = j->jdk ?: "";
	row.gap = h ? NULL : j->gap ?: "its memory cannot be read (yet)";
	j->is_there = true;
	vec_push(&r->board->rows, row);
}

static void read_of_node(struct process *p, void *ctx)
{
	struct jvm_rows *r = ctx;
	struct watched *j = process_is_whole_jvm(p) ? find(r, p->id) : NULL;
	const struct container *c = j ? node_container(r->node, p) : NULL;

	if (!j)
		return;
	set(&j->name, node_names(r->node, p)->main, SIZE_MAX);
	if (c && *c->name)
		set(&j->container, c->name, SIZE_MAX);
	else
		set(&j->container, c ? c->id : "", CONTAINER_ID);
	read_jvm(r, j, node_jvm(r->node, p));
}

static void search(struct jvm_rows *r)
{
	struct javaprocs all = { 0 };
	char id[CONTAINER_ID_LEN + 1];

	if (r->searched_ns && r->now_ns - r->searched_ns < SEARCH_NS)
		return;
	r->searched_ns = r->now_ns;
	javaprocs_read(&all);
	vec_each(found, &all) {
		struct watched *j = find(r, found->id);
		if (!j || j->name)
			continue;
		set(&j->name, found->main, SIZE_MAX);
		set(&j->jdk, found->jdk, SIZE_MAX);
		set(&j->container, cgroup_container(found->id.pid, id) ? id : "", CONTAINER_ID);
	}
	javaprocs_fini(&all);
}

/* Reads the main class again once it can be read from the JVM's memory. */
static void read_name(struct watched *j, struct process_id id)
{
	char command[MAIN_CLASS_COMMAND_MAX];

	if (hotspot_java_command(j->own, command, sizeof(command)))
		return;
	auto_free char *name = javaproc_main(id, command);
	set(&j->name, name, SIZE_MAX);
}

static void read_alone(struct jvm_rows *r)
{
	auto_str struct str why = { 0 };

	search(r);
	vec_each(j, &r->jvms) {
		struct process_id id = jvm_meter_id(j->meter);
		bool is_new = !j->own;
		int err = is_new ? hotspot_open(id, &j->own) : 0;
		if (err && legibility_of(id, err, NULL, &why) != LEGIBLE)
			set(&j->gap, why.at, SIZE_MAX);
		else if (!err && is_new)
			read_name(j, id);
		if (time_process_ns(id.pid) && !(j->own && hotspot_refresh(j->own) == -ESRCH))
			read_jvm(r, j, j->own);
	}
}

static void drop_ended(struct jvm_rows *r)
{
	size_t nr = 0;

	vec_each(j, &r->jvms) {
		if (j->is_there)
			r->jvms.at[nr++] = *j;
		else
			free_jvm(j);
	}
	r->jvms.nr = nr;
}

static void begin(struct jvm_rows *r, u64 now_ns, struct board *out)
{
	r->now_ns = now_ns;
	r->board = out;
	out->rows.nr = 0;
	vec_each(j, &r->jvms)
		j->is_there = false;
}

void jvm_rows_read(struct jvm_rows *r, struct node *n, u64 now_ns, struct board *out)
{
	begin(r, now_ns, out);
	r->node = n;
	node_each_jvm(n, read_of_node, r);
	drop_ended(r);
}

void jvm_rows_search(struct jvm_rows *r, u64 now_ns, struct board *out)
{
	begin(r, now_ns, out);
	read_alone(r);
	drop_ended(r);
}
