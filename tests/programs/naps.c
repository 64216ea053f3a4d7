/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * naps THREADS SECONDS MS: threads that nap all the time, too many at once for a sample of each
 * nap. First waits for SIGUSR1. At the end prints the time of all waits, "brief_nap NS".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "known.h"

static long end_ns, nap_ns, all_ns;

static void brief_nap(void)
{
	nap(nap_ns);
}

static void *run(void *arg)
{
	long waited = 0;

	(void)arg;
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		long wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
		brief_nap();
		waited += waited_ns(wall, cpu);
	}
	__atomic_add_fetch(&all_ns, waited, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 10;
	pthread_t *threads = calloc((size_t)nr, sizeof(*threads));
	pthread_attr_t attr;

	await_signal();
	started();
	end_ns = now_ns(CLOCK_MONOTONIC) + (argc > 2 ? atol(argv[2]) : 1) * 1000000000L;
	nap_ns = (argc > 3 ? atol(argv[3]) : 1) * 1000000L;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], &attr, run, NULL))
			return 1;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("brief_nap %ld\n", all_ns);
	free(threads);
	return 0;
}
