/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost, in CPU time and memory, of reading a JVM from outside: the first and later opens, a
 * walk of its code heaps, naming every call site of its compiled code for the first and the second
 * time. usage: jvm PID LABEL
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vec.h"
#include "jvm/hotspot/hotspot.h"

#define ROUNDS  11
#define STEP    64 /* bytes of code between two pcs */
#define FRAMES  64
#define PCS_MAX 20000

struct pc {
	u64 pc;
	u32 compile_id;
};

struct pcs {
	struct pc *at;
	size_t nr, cap;
};

/* Our own CPU time including system calls, because the machine may be busy. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int take_pcs(void *ctx, const struct hotspot_blob *b)
{
	struct pcs *all = ctx;

	for (u64 pc = b->code_start; b->is_nmethod && pc < b->code_end && all->nr < PCS_MAX;
	     pc += STEP)
		vec_push(all, (struct pc){ pc, b->compile_id });
	return 0;
}

static int count(void *ctx, const struct hotspot_blob *b)
{
	++*(int *)ctx;
	return 0;
}

/* Returns ns per pc. `nr_frames` gets the number of named frames. */
static double name_all(struct hotspot *h, const struct pcs *all, u64 *nr_frames)
{
	struct java_frame frames[FRAMES];
	double start = cpu_ns();

	*nr_frames = 0;
	vec_each(p, all) {
		int nr = hotspot_name_pc(h,
					 (struct code_pc){ .pc = p->pc,
							   .compile_id = p->compile_id,
							   .is_leaf = true },
					 frames, FRAMES);
		*nr_frames += nr > 0 ? (u64)nr : 0;
	}
	return (cpu_ns() - start) / (double)(all->nr ? all->nr : 1);
}

int main(int argc, char **argv)
{
	double ms[ROUNDS];
	struct hotspot *h = NULL;
	struct hotspot_info info;
	struct pcs all = { 0 };
	u64 nr_frames;
	double start;
	int nr_blobs = 0;

	if (argc != 3)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		hotspot_free(h);
		start = cpu_ns();
		int err = hotspot_open((struct process_id){ atoi(argv[1]), 0 }, &h);
		ms[i] = (cpu_ns() - start) / 1e6;
		if (err) {
			fprintf(stderr, "cannot read the JVM %s: %s\n", argv[1], strerror(-err));
			return 1;
		}
	}
	double first = ms[0];
	qsort(ms + 1, ROUNDS - 1, sizeof(ms[0]), compare);
	start = cpu_ns();
	hotspot_each_blob(h, count, &nr_blobs);
	double walk = (cpu_ns() - start) / 1e6;
	hotspot_each_blob(h, take_pcs, &all);
	struct mallinfo2 before = mallinfo2();
	double cold = name_all(h, &all, &nr_frames), warm = name_all(h, &all, &nr_frames);
	struct mallinfo2 after = mallinfo2();
	hotspot_info(h, &info);
	printf("%-10s open %6.2f ms, again %5.2f ms (%.2f..%.2f); walk of %d blobs %5.2f ms; name "
	       "%zu pcs (%llu frames) %5.0f ns, again %4.0f ns; names %zu KB\n",
	       argv[2], first, ms[1 + (ROUNDS - 1) / 2], ms[1], ms[ROUNDS - 1], nr_blobs, walk,
	       all.nr, (unsigned long long)nr_frames, cold, warm,
	       (after.uordblks - before.uordblks) / 1024);
	hotspot_free(h);
	vec_fini(&all);
	return 0;
}
