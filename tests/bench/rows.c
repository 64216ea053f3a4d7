/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of unwind rows, for each file and for all files together: number of rows, memory, and
 * the CPU time to build them and to read them from a cache in DIR. Times are median (least..most)
 * of 11 rounds with the file in the page cache. usage: rows DIR FILE...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/unwind/packed.h"
#include "capture/unwind/row_build.h"
#include "elf/elf.h"

#define ROUNDS 11

struct size {
	u64 rows, bytes; /* bytes in BPF's format */
};

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
	auto_built_rows struct built_rows built = { 0 };

	if (fd < 0)
		return -errno;
	struct row_build *b = row_build_start(NULL, cache, fd, 0, ROWS_MAX);
	int err = row_build_result(b, &built);
	row_build_free(b);
	*out = built.rows;
	built.rows = (struct rows){ 0 };
	return err;
}

static struct size measure(const char *path, struct rowcache *cache, struct cost *out)
{
	double ms[ROUNDS];
	struct size size = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		auto_rows struct rows rows = { 0 };
		auto_packed struct packed packed = { 0 };
		double start = cpu_ms();
		int err = build(path, cache, &rows) ?: packed_new(&rows, UINT32_MAX, &packed);
		if (err) {
			fprintf(stderr, "%s: %s\n", path, strerror(-err));
			exit(1);
		}
		ms[i] = cpu_ms() - start;
		size = (struct size){ rows.nr, packed.nr * sizeof(*packed.words) };
	}
	qsort(ms, ROUNDS, sizeof(ms[0]), compare);
	*out = (struct cost){ ms[ROUNDS / 2], ms[0], ms[ROUNDS - 1] };
	return size;
}

static void add(struct cost *sum, const struct cost *one)
{
	sum->ms += one->ms;
	sum->least_ms += one->least_ms;
	sum->most_ms += one->most_ms;
}

static void print(const char *name, struct size size, const struct cost *built,
		  const struct cost *cached)
{
	printf("%-60s %7llu rows %6.3f MB, built %6.2f (%.2f..%.2f) ms, cached %6.2f (%.2f..%.2f) "
	       "ms\n",
	       name, (unsigned long long)size.rows, (double)size.bytes / 1e6, built->ms,
	       built->least_ms, built->most_ms, cached->ms, cached->least_ms, cached->most_ms);
}

int main(int argc, char **argv)
{
	struct rowcache none = ROWCACHE_NONE, cache = ROWCACHE_NONE;
	struct cost all_built = { 0 }, all_cached = { 0 };
	struct size all = { 0 };

	if (argc < 3 || rowcache_open(argv[1], 1u << 30, &cache)) {
		fprintf(stderr, "usage: rows DIR FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		struct cost built, cached;
		struct size size = measure(argv[i], &none, &built);
		measure(argv[i], &cache, &cached);
		print(argv[i], size, &built, &cached);
		all.rows += size.rows;
		all.bytes += size.bytes;
		add(&all_built, &built);
		add(&all_cached, &cached);
	}
	print("together", all, &all_built, &all_cached);
	rowcache_fini(&cache);
	return 0;
}
