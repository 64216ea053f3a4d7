/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unwind rows cost: for each file, and for all of them together, the rows, their memory and
 * the CPU time to build them: median (least..most) of 11 builds with the file in the page cache.
 * usage: rows FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elf/elf.h"
#include "elf/rows.h"

#define ROUNDS 11

struct cost {
	u64 nr_rows;
	double ms, least_ms, most_ms;
};

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int build(const char *path, struct rows *out)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;

	int err = elf_open_fd(fd, &e);
	return err ? err : rows_build(e, out);
}

static int measure(const char *path, struct cost *out)
{
	double ms[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		auto_rows struct rows rows = { 0 };
		double start = cpu_ms();
		int err = build(path, &rows);
		if (err) {
			fprintf(stderr, "%s: %s\n", path, strerror(-err));
			return err;
		}
		ms[i] = cpu_ms() - start;
		out->nr_rows = rows.nr;
	}
	qsort(ms, ROUNDS, sizeof(ms[0]), compare);
	out->ms = ms[ROUNDS / 2];
	out->least_ms = ms[0];
	out->most_ms = ms[ROUNDS - 1];
	return 0;
}

static void print(const char *name, const struct cost *cost)
{
	printf("%-60s %7llu rows %6.3f MiB %6.2f (%.2f..%.2f) ms\n", name,
	       (unsigned long long)cost->nr_rows,
	       (double)(cost->nr_rows * sizeof(struct unwind_row)) / (1 << 20), cost->ms,
	       cost->least_ms, cost->most_ms);
}

int main(int argc, char **argv)
{
	struct cost all = { 0 };

	for (int i = 1; i < argc; i++) {
		struct cost one;
		if (measure(argv[i], &one))
			return 1;
		print(argv[i], &one);
		all.nr_rows += one.nr_rows;
		all.ms += one.ms;
		all.least_ms += one.least_ms;
		all.most_ms += one.most_ms;
	}
	print("together", &all);
	return 0;
}
