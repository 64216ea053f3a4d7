/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that nap once for long and then twenty times briefly, forever. usage: shifts THREADS */
/* BUILD-FLAGS: -O1 -fno-inline */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

void long_nap(unsigned *seed)
{
	usleep(500000 + (unsigned)rand_r(seed) % 1000000);
}

void short_naps(void)
{
	for (int i = 0; i < 20; i++)
		usleep(5000);
}

static void *work(void *number)
{
	unsigned seed = (unsigned)(unsigned long)number;

	for (;;) {
		long_nap(&seed);
		short_naps();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--)
		if (pthread_create(&thread, NULL, work, (void *)(unsigned long)n))
			return 1;
	pause();
	return 0;
}
