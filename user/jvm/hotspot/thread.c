/* SPDX-License-Identifier: Apache-2.0 */
/* The Java threads of a JVM (runtime/threads.hpp, threadSMR.hpp). Part of jvm/hotspot/hotspot.h. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "jvm/hotspot/hotspot_private.h"

#define THREADS_MAX     100000
#define STATUS_MAX      16384
#define STACK_MAX_BYTES (16ull << 30)

/* JDK 12 and later: an array that is replaced as a whole. */
static int list_by_array(const struct vm_memory *j, u64 list, struct java_threads *out)
{
	u64 nr, array;

	if (!list)
		return 0;
	int err = vm_read(j, list, THREADS_LENGTH, &nr);
	err = err ? err : vm_read(j, list, THREADS_ARRAY, &array);
	if (err)
		return err;
	nr = nr < THREADS_MAX ? nr : THREADS_MAX;
	vec_reserve(out, nr);
	err = mem_read(j->mem, array, out->at, nr * sizeof(out->at[0]));
	out->nr = err ? 0 : nr;
	return err;
}

int hotspot_list_threads(const struct vm_memory *j, struct java_threads *out)
{
	u64 thread;
	int err = vm_read_static(j, SMR_THREAD_LIST, &thread);

	if (err != -ENOENT)
		return err ? err : list_by_array(j, thread, out);
	err = vm_read_static(j, THREAD_LIST, &thread);
	while (!err && thread && out->nr < THREADS_MAX) {
		vec_push(out, thread);
		err = vm_read(j, thread, THREAD_NEXT, &thread);
	}
	/* A list that changed during the read is used as far as it was read. */
	return err == -ESRCH || err == -ENOENT ? err : 0;
}

/* The data read for one thread. */
struct raw_thread {
	u64 osthread, stack_base, stack_size;
	u32 tid;
};

static int read_threads(const struct vm_memory *j, const struct java_threads *list,
			struct raw_thread *raw)
{
	const struct jvm_field *f = j->build.fields;
	auto_free struct mem_request *requests = xcalloc(list->nr * 3, sizeof(*requests));
	size_t nr = 0;

	for (size_t i = 0; i < list->nr; i++) {
		u64 t = list->at[i];
		requests[nr++] = (struct mem_request){ t + f[THREAD_OSTHREAD].at, &raw[i].osthread,
						       8, false };
		if (!f[THREAD_STACK_BASE].width || !f[THREAD_STACK_SIZE].width)
			continue;
		requests[nr++] = (struct mem_request){ t + f[THREAD_STACK_BASE].at,
						       &raw[i].stack_base, 8, false };
		requests[nr++] = (struct mem_request){ t + f[THREAD_STACK_SIZE].at,
						       &raw[i].stack_size, 8, false };
	}
	int err = mem_read_batch(j->mem, requests, nr);
	if (err < 0)
		return err;
	nr = 0;
	for (size_t i = 0; i < list->nr; i++)
		if (raw[i].osthread)
			requests[nr++] =
				(struct mem_request){ raw[i].osthread + f[OSTHREAD_ID].at,
						      &raw[i].tid, sizeof(raw[i].tid), false };
	err = mem_read_batch(j->mem, requests, nr);
	return err < 0 ? err : 0;
}

/* The innermost pid of the line "NSpid: ...", 0 if there is none. */
static pid_t nested_tid(const char *status)
{
	const char *at = strstr(status, "\nNSpid:");
	pid_t last = 0;

	if (!at)
		return 0;
	at += 7;
	for (char *end; *at && *at != '\n'; at = end) {
		long value = strtol(at, &end, 10);
		if (end == at)
			break;
		last = (pid_t)value;
	}
	return last;
}

/* tid in the JVM's pid namespace -> tid in ours. */
static void map_tids(pid_t pid, struct dict *out)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	auto_closedir DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		auto_free char *status = NULL;
		size_t len;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, e->d_name);
		if (e->d_name[0] == '.' || file_read(path, STATUS_MAX, &status, &len))
			continue;
		*dict_add(out, (u64)nested_tid(status)) = (u64)atoi(e->d_name);
	}
}

static bool take_thread(const struct hotspot *h, const struct dict *tids, u64 java_thread,
			const struct raw_thread *raw, struct hotspot_thread *out)
{
	const u64 *mapped = h->is_nested ? dict_find(tids, raw->tid) : NULL;

	out->tid = mapped ? (pid_t)*mapped : (pid_t)raw->tid;
	out->java_thread = java_thread;
	if (raw->stack_size && raw->stack_size < STACK_MAX_BYTES &&
	    raw->stack_base > raw->stack_size) {
		out->stack_start = raw->stack_base - raw->stack_size;
		out->stack_end = raw->stack_base;
	}
	return raw->tid && (!h->is_nested || mapped);
}

ssize_t hotspot_threads(struct hotspot *h, struct hotspot_thread **out)
{
	struct java_threads list = { 0 };
	struct dict tids = { 0 };
	ssize_t nr = 0;

	if (!vm_has(&h->jvm.build, THREAD_OSTHREAD) || !vm_has(&h->jvm.build, OSTHREAD_ID))
		return -ENOENT;
	int err = hotspot_list_threads(&h->jvm, &list);
	auto_free u64 *addresses = list.at;
	auto_free struct raw_thread *raw = xcalloc(list.nr, sizeof(*raw));
	err = err ? err : read_threads(&h->jvm, &list, raw);
	if (err)
		return err;

	struct hotspot_thread *all = xcalloc(list.nr, sizeof(*all));
	if (h->is_nested)
		map_tids(h->pid, &tids);
	for (size_t i = 0; i < list.nr; i++)
		nr += take_thread(h, &tids, addresses[i], &raw[i], &all[nr]);
	dict_fini(&tids);
	*out = all;
	return nr;
}
