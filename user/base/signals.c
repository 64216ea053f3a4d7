/* SPDX-License-Identifier: Apache-2.0 */
/* The signals of a child that must not end before its parent, and the signals of threads. */
#include "base/signals.h"

#include <signal.h>

#include "base/types.h"

void signals_leave_to_parent(void)
{
	static const int ignored[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTOU
	};
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

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
