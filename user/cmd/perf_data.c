/* SPDX-License-Identifier: Apache-2.0 */
/* Raw data of perf, decoded by `perf script`. */
#include "cmd/perf_data.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"

extern char **environ;

bool perf_data_is(FILE *f)
{
	struct stat st;
	char head[8];

	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
		return false;
	size_t len = fread(head, 1, sizeof(head), f);
	rewind(f);
	return len == sizeof(head) &&
	       (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8));
}

static int spawn(const char *path, int out, pid_t *pid)
{
	/*
	 * perf asks addr2line for each inlined frame, which can take minutes. By default it prints
	 * no PID.
	 */
	const char *const args[] = { "perf", "script", "--no-inline", "--show-mmap-events",
				     "-F",   "+pid",   "-i",          path,
				     NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t pipe;

	/* We ignore SIGPIPE. perf must end when a refused file is no longer read. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	int err = posix_spawnp(pid, "perf", &actions, &attr, (char *const *)args, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

int perf_script_begin(const char *path, struct perf_script *s)
{
	int ends[2];
	/* perf would take a path that begins with '-' for an option. */
	auto_free char *full = realpath(path, NULL);

	if (!full || pipe2(ends, O_CLOEXEC))
		return -errno;
	int err = spawn(full, ends[1], &s->pid);
	close(ends[1]);
	s->out = err ? NULL : fdopen(ends[0], "r");
	if (!s->out)
		close(ends[0]);
	return err;
}

int perf_script_end(struct perf_script *s)
{
	int status;

	fclose(s->out);
	while (waitpid(s->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EINVAL;
}
