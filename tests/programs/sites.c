/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * sites nap|mutex SECONDS: equal waits at five places, which are chosen at random with a fixed
 * seed. Any disagreement of clocks is therefore the same share of each place. First waits for
 * SIGUSR1. At the end prints the time waited at each place, "PLACE NS".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "known.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void (*wait_once)(void);
static long end_ns;

static void nap_once(void)
{
	nap(300000);
}

/* The other thread sleeps while it holds the lock. */
static void lock_once(void)
{
	pthread_mutex_lock(&mutex);
}

static void first(void)
{
	wait_once();
}

static void second(void)
{
	wait_once();
}

static void third(void)
{
	wait_once();
}

static void fourth(void)
{
	wait_once();
}

static void fifth(void)
{
	wait_once();
}

struct site {
	const char *name;
	void (*wait)(void);
	int tickets;
	long ns;
};

static struct site sites[] = {
	{ "first", first, 1, 0 },   { "second", second, 2, 0 }, { "third", third, 3, 0 },
	{ "fourth", fourth, 4, 0 }, { "fifth", fifth, 6, 0 },
};
#define NR_SITES   (sizeof(sites) / sizeof(sites[0]))
#define NR_TICKETS 16

static size_t draw(unsigned int *seed)
{
	int ticket = rand_r(seed) / 64 % NR_TICKETS;
	size_t i = 0;

	while (ticket >= sites[i].tickets)
		ticket -= sites[i++].tickets;
	return i;
}

static void *run(void *arg)
{
	unsigned int seed = 1 + (unsigned int)(size_t)arg;

	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		size_t i = draw(&seed);
		long wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
		sites[i].wait();
		__atomic_fetch_add(&sites[i].ns, waited_ns(wall, cpu), __ATOMIC_RELAXED);
		if (wait_once == nap_once)
			continue;
		nap(200000);
		pthread_mutex_unlock(&mutex);
		nap(20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc < 3)
		return 2;
	wait_once = strcmp(argv[1], "nap") ? lock_once : nap_once;
	await_signal();
	started();
	end_ns = now_ns(CLOCK_MONOTONIC) + atol(argv[2]) * 1000000000L;
	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < NR_SITES; i++)
		printf("%s %ld\n", sites[i].name, sites[i].ns);
	return 0;
}
