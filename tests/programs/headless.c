/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * At SIGUSR1 the main thread ends and a worker continues: in with_main() before, in without_main()
 * after.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "known.h"

static atomic_int has_main = 1;

static void with_main(void)
{
	while (has_main)
		;
}

static void without_main(void)
{
	for (;;)
		has_main = 0;
}

static void *work(void *arg)
{
	with_main();
	without_main();
	return NULL;
}

int main(void)
{
	pthread_t worker;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* inherited by the worker */
	if (pthread_create(&worker, NULL, work, NULL))
		return 1;
	await_signal();
	has_main = 0;
	pthread_exit(NULL);
}
