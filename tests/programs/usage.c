/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command and prints its "CPU_SECONDS MAX_RSS_MB" to standard error.
 * usage: usage COMMAND ARG..
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int status;
	pid_t pid = argc > 1 ? fork() : -1;

	if (pid == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 1;
	fprintf(stderr, "%.2f %ld\n", seconds(used.ru_utime) + seconds(used.ru_stime),
		used.ru_maxrss / 1024);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
