// SPDX-License-Identifier: Apache-2.0
/*
 * periodic HZ MS: works for MS ms of CPU time. HZ times a second it is in thirty() for 30 % of the
 * time, then in seventy().
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) void thirty(uint64_t end_ns)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		;
}

static __attribute__((noinline)) void seventy(uint64_t end_ns)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		;
	__asm__ volatile(""); /* not the same code as above */
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const uint64_t period_ns = 1000000000 / strtoull(argv[1], NULL, 10);
	const uint64_t work_ns = 1000000 * strtoull(argv[2], NULL, 10);

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < work_ns) {
		uint64_t begin_ns = now_ns(CLOCK_MONOTONIC) / period_ns * period_ns;
		thirty(begin_ns + period_ns * 3 / 10);
		seventy(begin_ns + period_ns);
	}
	return 0;
}
