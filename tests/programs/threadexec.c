/* SPDX-License-Identifier: Apache-2.0 */
/* At SIGUSR1 another thread than the main one executes this program again, which then waits. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "known.h"

static void *execute(void *path)
{
	await_signal();
	execl(path, path, "again", NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t other;
	sigset_t all;

	if (argc > 1)
		for (;;)
			free(malloc(1 << 20)), nap(10000000);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* inherited by the other thread */
	if (pthread_create(&other, NULL, execute, argv[0]))
		return 1;
	pthread_join(other, NULL);
	return 1;
}
