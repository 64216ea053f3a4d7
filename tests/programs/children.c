/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts children. Half a second after its start each takes and frees 1 MiB 20 times.
 * usage: children NUMBER [wait]. With `wait` each begins half a second after a SIGUSR1.
 */
/* BUILD-FLAGS: -O0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(const sigset_t *awaited)
{
	int signal;

	if (awaited)
		sigwait(awaited, &signal);
	usleep(500000);
	for (int i = 0; i < 20; i++) {
		char *taken = malloc(1 << 20);
		memset(taken, 1, 1 << 20);
		usleep(50000);
		free(taken);
	}
}

int main(int argc, char **argv)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (argc > 2)
		sigprocmask(SIG_BLOCK, &set, NULL);
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--) {
		pid_t pid = fork();
		if (!pid) {
			child(argc > 2 ? &set : NULL);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
