/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that end a recording of a fleet early. */
#include "cmd/fleet_signals.h"

#include <signal.h>
#include <stddef.h>

/* A signal handler takes no argument of ours. */
static volatile int nr_signals, nr_hangups;

static void on_signal(int number)
{
	if (number != SIGHUP || !nr_hangups++)
		nr_signals++;
}

volatile int *fleet_signals_count(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	return &nr_signals;
}
