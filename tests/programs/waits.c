/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * waits SECONDS [IDLE]: threads that wait, each at a place of its name, one thread that works, and
 * IDLE threads that never run. Without IDLE it first waits for SIGUSR1. At the end prints the time
 * each thread waited and the time since it first ran, "PLACE NS NS".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "known.h"

static long end_ns;

static void long_nap(void)
{
	nap(29000000);
}

static void medium_nap(void)
{
	nap(7000000);
}

static void short_nap(void)
{
	nap(50000);
}

static void timed_wait(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 11000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&never, &mutex, &t);
	pthread_mutex_unlock(&mutex);
}

static void doze(void)
{
	nap(end_ns - now_ns(CLOCK_MONOTONIC));
}

static void burn(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

static void stay(void)
{
	pause();
}

struct place {
	const char *name;
	void (*wait)(void);
	long ns, lived_ns;
	pthread_t thread;
};

static struct place places[] = {
	{ .name = "long_nap", .wait = long_nap },   { .name = "medium_nap", .wait = medium_nap },
	{ .name = "short_nap", .wait = short_nap }, { .name = "timed_wait", .wait = timed_wait },
	{ .name = "doze", .wait = doze },           { .name = "burn", .wait = burn },
};
#define NR_PLACES (sizeof(places) / sizeof(places[0]))

static void *run(void *arg)
{
	struct place *p = arg;
	long began = now_ns(CLOCK_MONOTONIC);

	prctl(PR_SET_NAME, p->name);
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		long wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
		p->wait();
		p->ns += waited_ns(wall, cpu);
	}
	p->lived_ns = now_ns(CLOCK_MONOTONIC) - began;
	return NULL;
}

static void *run_idle(void *arg)
{
	for (;;)
		stay();
	return NULL;
}

int main(int argc, char **argv)
{
	int nr_idle = argc > 2 ? atoi(argv[2]) : 0;
	pthread_attr_t small;
	pthread_t idle;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < nr_idle; i++)
		if (pthread_create(&idle, &small, run_idle, NULL))
			return 1;
	if (!nr_idle)
		await_signal();
	started();
	end_ns = now_ns(CLOCK_MONOTONIC) + (argc > 1 ? atol(argv[1]) : 1) * 1000000000L;
	for (size_t i = 0; i < NR_PLACES; i++)
		pthread_create(&places[i].thread, NULL, run, &places[i]);
	for (size_t i = 0; i < NR_PLACES; i++)
		pthread_join(places[i].thread, NULL);
	for (size_t i = 0; i < NR_PLACES; i++)
		printf("%s %ld %ld\n", places[i].name, places[i].ns, places[i].lived_ns);
	return 0;
}
