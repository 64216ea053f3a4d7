/* SPDX-License-Identifier: Apache-2.0 */
/* One JVM over time. */
#include "top/jvm_meter.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/time.h"
#include "base/types.h"
#include "base/vec.h"
#include "jvm/process/vm_thread.h"
#include "proc/status.h"
#include "top/alloc_meter.h"

struct timed_thread;

struct thread_times {
	VEC(struct timed_thread) threads;
	struct dict by_tid; /* tid -> index + 1 */
	u64 round;
	bool has_begun, knows_names;
	u64 ns[NR_VM_WORKS]; /* since the first reading; never smaller than before */
};

#define LOOKS_MAX     3 /* a thread gets its name soon after its start */
#define SCHEDSTAT_MAX 128
#define THREADS_MAX   100000

struct timed_thread {
	pid_t tid, inner;
	enum vm_work work;
	u8 nr_looks;
	u64 run_ns, round;
};

static struct timed_thread *find(struct thread_times *t, pid_t tid)
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
static void drop_ended(struct thread_times *t)
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
 * Reads the threads of a process. `is_java` tells for a tid in the process's pid namespace whether
 * it can run Java code; such a thread collects no garbage, whatever its name.
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
		struct timed_thread *one = find(t, atoi(e->d_name));
		one->round = t->round;
		look(one);
		t->knows_names |= one->work == WORK_VM;
		if (one->work == WORK_GC && is_java(one->inner, ctx))
			one->work = WORK_OTHER;
		add_time(t, pid, one);
	}
	drop_ended(t);
	t->has_begun = true;
}

static void thread_times_fini(struct thread_times *t)
{
	vec_fini(&t->threads);
	dict_fini(&t->by_tid);
}

struct jvm_meter {
	struct process_id id;
	struct gauge_places places;
	struct gauges gauges;
	struct alloc_meter alloc;
	struct thread_times times;
	struct dict java_tids; /* of this reading, in its pid namespace */
	u64 at_ns, cpu_ns;     /* of the last reading; 0: none */
	u64 alloc_ns;          /* of the last reading of its memory; 0: none */
};

struct jvm_meter *jvm_meter_new(struct process_id id)
{
	struct jvm_meter *m = xcalloc(1, sizeof(*m));

	m->id = id;
	return m;
}

void jvm_meter_free(struct jvm_meter *m)
{
	if (!m)
		return;
	gauge_places_fini(&m->places);
	gauges_fini(&m->gauges);
	alloc_meter_fini(&m->alloc);
	thread_times_fini(&m->times);
	dict_fini(&m->java_tids);
	free(m);
}

struct process_id jvm_meter_id(const struct jvm_meter *m)
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

static void read_memory(struct jvm_meter *m, struct hotspot *h, u64 now_ns, struct jvm_row *out)
{
	u64 before = m->alloc.total, partial = m->alloc.nr_partial;

	if (!h || gauges_read(h, &m->places, &m->gauges))
		return;
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

void jvm_meter_read(struct jvm_meter *m, struct hotspot *h, u64 now_ns, struct jvm_row *out)
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
