/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts threads with stacks of a known size: some end and are joined, others stay. First waits for
 * SIGUSR1 and calls started().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "known.h"

#define STACK_BYTES (41 << 20) /* glibc keeps stacks of ended threads, up to 40 MB */
#define ENDING      5
#define STAYING     3

static void *stay(void *arg)
{
	pause();
	return NULL;
}

static void *end(void *arg)
{
	return NULL;
}

static pthread_t begin(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK_BYTES) ||
	    pthread_create(&thread, &attr, run, NULL))
		abort();
	pthread_attr_destroy(&attr);
	return thread;
}

int main(void)
{
	pthread_t ending[ENDING];

	await_signal();
	started();
	for (int i = 0; i < STAYING; i++)
		begin(stay);
	for (int i = 0; i < ENDING; i++)
		ending[i] = begin(end);
	for (int i = 0; i < ENDING; i++)
		pthread_join(ending[i], NULL);
	printf("%ld %ld\n", (long)STACK_BYTES * (ENDING + STAYING), (long)STACK_BYTES * STAYING);
	fflush(stdout);
	pause();
	return 0;
}
