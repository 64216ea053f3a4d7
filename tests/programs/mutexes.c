/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * mutexes SECONDS: pairs of threads take turns with a lock, each pair at a place of its own.
 * Another thread waits for a condition. First waits for SIGUSR1. At the end prints the time waited
 * for each lock, "PLACE NS".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "known.h"

static long end_ns;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, brief = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void long_mutex(void)
{
	pthread_mutex_lock(&mutex);
}

static void unlock_long(void)
{
	nap(6000000);
	pthread_mutex_unlock(&mutex);
}

static void brief_mutex(void)
{
	pthread_mutex_lock(&brief);
}

static void unlock_brief(void)
{
	nap(150000);
	pthread_mutex_unlock(&brief);
}

static void write_lock(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void unlock_write(void)
{
	nap(4000000);
	pthread_rwlock_unlock(&rwlock);
}

static void condition(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 11000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&of_condition);
	pthread_cond_timedwait(&never, &of_condition, &t);
}

static void unlock_condition(void)
{
	pthread_mutex_unlock(&of_condition);
}

struct place {
	const char *name;
	void (*lock)(void), (*unlock)(void);
	int nr_threads;
	long ns;
};

static struct place places[] = {
	{ "long_mutex", long_mutex, unlock_long, 2, 0 },
	{ "brief_mutex", brief_mutex, unlock_brief, 2, 0 },
	{ "write_lock", write_lock, unlock_write, 2, 0 },
	{ "condition", condition, unlock_condition, 1, 0 },
};
#define NR_PLACES (sizeof(places) / sizeof(places[0]))

/* The other thread of the pair gets the lock during the nap. */
static void *run(void *arg)
{
	struct place *p = arg;

	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		long wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
		p->lock();
		__atomic_fetch_add(&p->ns, waited_ns(wall, cpu), __ATOMIC_RELAXED);
		p->unlock();
		nap(50000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2 * NR_PLACES];
	size_t nr = 0;

	await_signal();
	started();
	end_ns = now_ns(CLOCK_MONOTONIC) + (argc > 1 ? atol(argv[1]) : 1) * 1000000000L;
	for (size_t i = 0; i < NR_PLACES; i++)
		for (int k = 0; k < places[i].nr_threads; k++)
			pthread_create(&threads[nr++], NULL, run, &places[i]);
	for (size_t i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < NR_PLACES; i++)
		printf("%s %ld\n", places[i].name, places[i].ns);
	return 0;
}
