/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * Faults on 7001 and 3001 pages in two functions, then calls reached() 1009 times in each of two
 * threads. reached() has the probe counted:reached in two places, behind its semaphore.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sdt.h>

#include "known.h"

static volatile int sink;

static void touch(volatile char *at, int pages)
{
	for (int i = 0; i < pages; i++)
		at[i * 4096L] = 1;
}

static void touch_many(volatile char *at)
{
	touch(at, 7001);
	sink++;
}

static void touch_few(volatile char *at)
{
	touch(at, 3001);
	sink++;
}

static volatile unsigned short counted_reached_semaphore __attribute__((used, section(".probes")));

void reached(int x)
{
	sink += x;
	if (!counted_reached_semaphore)
		return;
	if (x & 1)
		STAP_PROBE(counted, reached);
	else
		STAP_PROBE1(counted, reached, x);
}

static void *call(void *arg)
{
	for (int i = 0; i < 1009; i++)
		reached(i);
	return NULL;
}

int main(void)
{
	size_t size = 4096L * 16384;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t threads[2];

	if (at == MAP_FAILED || madvise(at, size, MADV_NOHUGEPAGE))
		return 1;
	await_signal();
	started();
	touch_many(at);
	touch_few(at + 4096L * 8192);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, call, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
