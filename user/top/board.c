/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of the node and of all its JVMs, in an order. */
#include "top/board.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
