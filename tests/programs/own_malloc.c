/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls -rdynamic */
/*
 * Has an allocator of its own, which takes its memory from mmap, and also calls mmap directly. Its
 * malloc ends in a jump, as that of jemalloc. First waits for SIGUSR1. At the end prints "SITE
 * BYTES".
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "known.h"

#define POOL  (5 << 20)
#define CHUNK (4 << 20)
#define BLOCK 100000

static void *map(size_t len)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static char *chunk;
static size_t used = CHUNK;

static void *take(size_t size)
{
	size = (size + 31) & ~(size_t)15;
	if (size > CHUNK)
		return NULL;
	if (used + size > CHUNK) {
		chunk = map(CHUNK);
		used = 0;
	}
	used += size;
	return chunk + used - size + 16;
}

__attribute__((optimize("optimize-sibling-calls"))) void *malloc(size_t size)
{
	return take(size);
}

void free(void *p)
{
	(void)p;
}

static void by_map(void)
{
	for (int i = 0; i < 20; i++)
		munmap(map(POOL), POOL);
}

static void by_malloc(void)
{
	for (int i = 0; i < 200; i++)
		*(volatile char *)malloc(BLOCK) = 1;
}

int main(void)
{
	char text[100];

	await_signal();
	started();
	by_map();
	by_malloc();
	snprintf(text, sizeof(text), "by_map %d\nby_malloc %d\n", 20 * POOL, 200 * BLOCK);
	return write(1, text, strlen(text)) < 0;
}
