/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * Allocates known numbers of bytes with every allocating function, then prints lines "SITE BYTES
 * LEAKED". First waits for SIGUSR1 and calls started(). With an argument a child does this, after
 * another SIGUSR1.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

#define BLOCK   4001
#define BLOCKS  8191
#define LARGE   1048573
#define MAP_LEN (3 << 20)

static volatile int sink;
static void *volatile kept, *volatile none;

static void keep(void *p)
{
	*(volatile char *)p = 1;
	kept = p;
}

static void by_malloc(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		keep(malloc(BLOCK));
		free(kept);
	}
}

static void by_calloc(void)
{
	for (int i = 0; i < BLOCKS / 2; i++) {
		keep(calloc(BLOCK, 2));
		free(kept);
	}
}

/* realloc(NULL) jumps to malloc. */
static void by_realloc(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		keep(realloc(none, BLOCK));
		free(kept);
	}
}

/* memalign with a small alignment jumps to malloc too; posix_memalign calls memalign. */
static void by_memalign(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *p = NULL;
		keep(i & 1 ? memalign(i & 2 ? 8 : 64, BLOCK) : aligned_alloc(16, BLOCK));
		free(kept);
		if (posix_memalign(&p, i & 2 ? 8 : 256, BLOCK))
			abort();
		keep(p);
		free(p);
	}
}

/* Above its threshold malloc takes such blocks from mmap. */
static void by_large_malloc(void)
{
	for (int i = 0; i < 31; i++) {
		keep(malloc(LARGE));
		free(kept);
	}
}

static void by_mmap(void)
{
	for (int i = 0; i < 7; i++) {
		keep(mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0));
		munmap(kept, MAP_LEN);
	}
	/* Address space that is only reserved does not count. */
	sink += mmap(NULL, 1L << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		     0) != MAP_FAILED;
}

static void leaks_malloc(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(malloc(BLOCK));
}

/* Memory that realloc moves is freed; the memory that it returns is not. */
static void leaks_realloc(void)
{
	for (int i = 0; i < 61; i++)
		keep(realloc(malloc(LARGE / 2), LARGE));
}

static void leaks_mmap(void)
{
	for (int i = 0; i < 5; i++)
		keep(mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0));
}

struct site {
	void (*run)(void);
	const char *name;
	long bytes, leaked;
};

static const struct site sites[] = {
	{ by_malloc, "by_malloc", (long)BLOCK *BLOCKS, 0 },
	{ by_calloc, "by_calloc", (long)BLOCK * 2 * (BLOCKS / 2), 0 },
	{ by_realloc, "by_realloc", (long)BLOCK *BLOCKS, 0 },
	{ by_memalign, "by_memalign", 2L * BLOCK *BLOCKS, 0 },
	{ by_large_malloc, "by_large_malloc", 31L * LARGE, 0 },
	{ by_mmap, "by_mmap", 7L * MAP_LEN, 0 },
	{ leaks_malloc, "leaks_malloc", (long)BLOCK *BLOCKS, (long)BLOCK *BLOCKS },
	{ leaks_realloc, "leaks_realloc", 61L * (LARGE + LARGE / 2), 61L * LARGE },
	{ leaks_mmap, "leaks_mmap", 5L * MAP_LEN, 5L * MAP_LEN },
};

int main(int argc, char **argv)
{
	await_signal();
	started();
	if (argc > 1 && fork())
		return wait(NULL) < 0;
	if (argc > 1) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		await_signal();
	}
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		sites[i].run();
		printf("%s %ld %ld\n", sites[i].name, sites[i].bytes, sites[i].leaked);
	}
	return 0;
}
