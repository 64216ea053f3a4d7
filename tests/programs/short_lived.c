/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-omit-frame-pointer -fno-inline */
/* Runs itself N times in sequence, each time for 10 ms of CPU time in burn(). */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

static void burn(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 0;
	long begin = now_ns(CLOCK_PROCESS_CPUTIME_ID); /* exec took some */

	for (int i = 0; i < runs; i++) {
		if (fork() == 0) {
			execl(argv[0], argv[0], NULL);
			_exit(1);
		}
		wait(NULL);
	}
	while (!runs && now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin < 10000000)
		burn();
	return 0;
}
