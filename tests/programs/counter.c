/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -shared -fPIC -ldl */
/*
 * Preloaded: a machine with a cycle counter, played by the clock. COUNTER=plain: every CPU has one;
 * hybrid: CPU 1 refuses generic events, as small cores do; busy: another program holds CPU 1's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define CYCLES_PER_NS 3

static int refusal(long cpu)
{
	const char *how = getenv("COUNTER");

	if (cpu != 1 || !how)
		return 0;
	return !strcmp(how, "hybrid") ? ENOENT : !strcmp(how, "busy") ? EBUSY : 0;
}

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	const struct perf_event_attr *wanted = (const void *)a[0];
	if (number != SYS_perf_event_open || wanted->type != PERF_TYPE_HARDWARE)
		return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	errno = refusal(a[2]);
	if (errno)
		return -1;
	struct perf_event_attr clock = *wanted;
	clock.type = PERF_TYPE_SOFTWARE;
	clock.config = PERF_COUNT_SW_CPU_CLOCK;
	if (!clock.freq)
		clock.sample_period = clock.sample_period / CYCLES_PER_NS + 1;
	return next(number, &clock, a[1], a[2], a[3], a[4], a[5]);
}
