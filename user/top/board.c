/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of the node and of all its JVMs, sorted, and the load of the node. */
#include "top/board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"

static const char *const key_names[NR_BOARD_KEYS] = { "cpu",     "alloc",   "gc",  "jit", "heap",
						      "threads", "blocked", "pid", "name" };

const char *board_key_name(enum board_key key)
{
	return key_names[key];
}

int board_key_parse(const char *name, enum board_key *out)
{
	for (int i = 0; i < NR_BOARD_KEYS; i++)
		if (!strcmp(name, key_names[i])) {
			*out = i;
			return 0;
		}
	return -ENOENT;
}

static double value_of(const struct jvm_row *row, enum board_key key)
{
	switch (key) {
	case BOARD_ALLOC:
		return row->alloc;
	case BOARD_GC:
		return row->gc;
	case BOARD_JIT:
		return row->jit;
	case BOARD_HEAP:
		return row->heap_used == GAUGE_UNKNOWN ? -1 : (double)row->heap_used;
	case BOARD_THREADS:
		return row->nr_threads;
	case BOARD_BLOCKED:
		return row->threads[JAVA_THREAD_BLOCKED];
	case BOARD_PID:
		return -row->id.pid;
	default:
		return row->cpu;
	}
}

static int compare(const void *a, const void *b, void *key)
{
	const struct jvm_row *x = a, *y = b;
	enum board_key k = *(const enum board_key *)key;

	if (k == BOARD_NAME && strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	double left = value_of(x, k), right = value_of(y, k);
	if (left != right)
		return left < right ? 1 : -1;
	return x->id.pid < y->id.pid ? -1 : x->id.pid > y->id.pid;
}

void board_add_shares(struct board *b, u64 before_ns, u64 now_ns, u64 *own_ns, u64 own_now_ns)
{
	b->passed_ns = before_ns ? now_ns - before_ns : 0;
	b->own = b->passed_ns && own_now_ns >= *own_ns
			 ? (double)(own_now_ns - *own_ns) / (double)b->passed_ns
			 : RATE_UNKNOWN;
	b->other = b->load.busy < 0 ? RATE_UNKNOWN : b->load.busy - board_cpu(b);
	if (b->load.busy >= 0 && b->other < 0)
		b->other = 0;
	*own_ns = own_now_ns;
}

void board_sort(struct board *b, enum board_key key)
{
	if (b->rows.nr)
		qsort_r(b->rows.at, b->rows.nr, sizeof(b->rows.at[0]), compare, &key);
}

bool board_matches(const struct jvm_row *row, const char *text)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)row->id.pid);
	return strcasestr(row->name, text) || strcasestr(row->container, text) || strstr(pid, text);
}

double board_cpu(const struct board *b)
{
	double sum = 0;

	vec_each(row, &b->rows)
		if (row->cpu > 0)
			sum += row->cpu;
	return sum;
}

void board_fini(struct board *b)
{
	vec_fini(&b->rows);
}

#define STAT_MAX (4u << 20) /* a line per CPU and a long one of interrupts */

/* Parses /proc/stat. -EBADMSG if it has no line "cpu". */
static int cpu_ticks_parse(const char *stat, struct cpu_ticks *out)
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

static void compare_ticks(const struct cpu_ticks *last, const struct cpu_ticks *now,
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
	compare_ticks(last, &now, out);
	*last = now;
	err = file_read("/proc/loadavg", 256, &averages, &len);
	if (!err &&
	    sscanf(averages, "%lf %lf %lf", &out->load[0], &out->load[1], &out->load[2]) != 3)
		err = -EBADMSG;
	return err;
}
