/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of a JVM's own threads. */
#include "top/thread_times.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "proc/status.h"

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

void thread_times_read(struct thread_times *t, pid_t pid, bool (*is_java)(pid_t inner, void *ctx),
		       void *ctx)
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

void thread_times_fini(struct thread_times *t)
{
	vec_fini(&t->threads);
	dict_fini(&t->by_tid);
}
