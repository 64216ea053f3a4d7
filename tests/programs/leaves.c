/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * Spins in before() until SIGUSR1, calls started(), and spins in after() until the next SIGUSR1.
 * Then it executes PROGRAM, or ends. usage: leaves [PROGRAM]
 */
#include <unistd.h>

#include "known.h"

static sigset_t awaited;

static void spin(void)
{
	const struct timespec at_once = { 0 };

	while (sigtimedwait(&awaited, NULL, &at_once) < 0)
		;
}

static void before(void)
{
	spin();
}

static void after(void)
{
	spin();
}

int main(int argc, char **argv)
{
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGUSR1);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	before();
	started();
	after();
	if (argc > 1)
		execl(argv[1], argv[1], NULL);
	return 0;
}
