/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that leave all signals to the thread which starts them. */
#include "base/thread.h"

#include <signal.h>

int thread_start(size_t stack_bytes, void *(*run)(void *ctx), void *ctx, pthread_t *out)
{
	pthread_attr_t attr;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	int err = pthread_create(out, &attr, run, ctx);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}
