/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that know themselves what a recorder should see of them. */
#pragma once

#include <signal.h>
#include <time.h>

static inline long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* What the thread has waited since, by clocks that were read before: not the time it ran. */
static inline long waited_ns(long wall_ns, long cpu_ns)
{
	return now_ns(CLOCK_MONOTONIC) - wall_ns - (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
}

static inline void nap(long ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

/* Where a recorder puts a uprobe, to show that it is ready. */
void started(void)
{
	__asm__ volatile("");
}

/* Until a test, whose recorder is ready, sends SIGUSR1. */
static inline void await_signal(void)
{
	sigset_t set;
	int signal;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigwait(&set, &signal);
}
