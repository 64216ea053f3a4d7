/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -shared -fPIC */
/*
 * Loaded by LD_PRELOAD, it adds the number of seconds in the file CLOCK_SHIFT, a signed integer of
 * 8 bytes, to the wall clock of a program and its children. The file may be changed meanwhile.
 * Threads that wait until a time of this clock wait as long as they mean to.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WALL_S 1000000000 /* a monotonic clock is below: the machine has run for 30 years else */

static const volatile int64_t *shift;

__attribute__((constructor)) static void map_shift(void)
{
	const char *path = getenv("CLOCK_SHIFT");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (at != MAP_FAILED)
		shift = at;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int err = (int)syscall(SYS_clock_gettime, clock, out);

	if (!err && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		out->tv_sec += *shift;
	return err;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict until)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
		dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	struct timespec at = *until;

	if (shift && at.tv_sec > WALL_S)
		at.tv_sec -= *shift;
	return real(cond, mutex, &at);
}
