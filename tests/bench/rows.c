/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unwind rows cost: for each file, and for all of them together, the rows, their memory and
 * the CPU time to build them and to get them from a cache in DIR, each as median (least..most) of
 * 11 rounds with the file in the page cache.
 * usage: rows DIR FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elf/elf.h"
#include "elf/rowcache.h"

#define ROUNDS 11

struct cost {
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

static int build(const char *path, struct rowcache *cache, struct rows *out)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;

	int err = elf_open_fd(fd, &e);
	return err ? err : rowcache_build(cache, e, out);
}

static u32 measure(const char *path, struct rowcache *cache, struct cost *out)
{
	double ms[ROUNDS];
	u32 nr_rows = 0;

	for (int i = 0; i < ROUNDS; i++) {
		auto_rows struct rows rows = { 0 };
		double start = cpu_ms();
		int err = build(path, cache, &rows);
		if (err) {
			fprintf(stderr, "%s: %s\n", path, strerror(-err));
			exit(1);
		}
		ms[i] = cpu_ms() - start;
		nr_rows = rows.nr;
	}
	qsort(ms, ROUNDS, sizeof(ms[0]), compare);
	*out = (struct cost){ ms[ROUNDS / 2], ms[0], ms[ROUNDS - 1] };
	return nr_rows;
}

static void add(struct cost *sum, const struct cost *one)
{
	sum->ms += one->ms;
	sum->least_ms += one->least_ms;
	sum->most_ms += one->most_ms;
}

static void print(const char *name, u64 nr_rows, const struct cost *built,
		  const struct cost *cached)
{
	printf("%-60s %7llu rows %6.3f MiB, built %6.2f (%.2f..%.2f) ms, cached %6.2f (%.2f..%.2f) "
	       "ms\n",
	       name, (unsigned long long)nr_rows,
	       (double)(nr_rows * sizeof(struct unwind_row)) / (1 << 20), built->ms,
	       built->least_ms, built->most_ms, cached->ms, cached->least_ms, cached->most_ms);
}

int main(int argc, char **argv)
{
	struct rowcache none = ROWCACHE_NONE, cache = ROWCACHE_NONE;
	struct cost all_built = { 0 }, all_cached = { 0 };
	u64 nr_all = 0;

	if (argc < 3 || rowcache_open(argv[1], 1u << 30, &cache)) {
		fprintf(stderr, "usage: rows DIR FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		struct cost built, cached;
		u32 nr = measure(argv[i], &none, &built);
		measure(argv[i], &cache, &cached);
		print(argv[i], nr, &built, &cached);
		nr_all += nr;
		add(&all_built, &built);
		add(&all_cached, &cached);
	}
	print("together", nr_all, &all_built, &all_cached);
	rowcache_fini(&cache);
	return 0;
}
