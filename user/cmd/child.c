/* SPDX-License-Identifier: Apache-2.0 */
/* A command that is profiled from its first instruction. */
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: waits for its release, then executes the command or reports the error. */
static void run(int fd, char **argv)
{
	sigset_t none;
	char word;

	if (read(fd, &word, 1) != 1)
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);
	int err = errno;
	if (write(fd, &err, sizeof(err)) < 0)
		_exit(127);
	_exit(err == ENOENT ? 127 : 126);
}

int child_hold(char **argv, struct child *out)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid_t pid = fork();
	if (pid < 0) {
		int err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (pid == 0) {
		close(fds[0]);
		run(fds[1], argv);
	}
	close(fds[1]);
	*out = (struct child){
		.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.release_fd = fds[0],
	};
	return 0;
}

int child_release(struct child *c)
{
	int err = 0;

	/* exec closes the other end; if exec fails, the reason arrives. */
	if (write(c->release_fd, "", 1) != 1 || read(c->release_fd, &err, sizeof(err)) < 0)
		err = errno;
	close(c->release_fd);
	c->release_fd = 0;
	return -err;
}

void child_fini(struct child *c)
{
	if (c->release_fd > 0) {
		close(c->release_fd);
		waitpid(c->pid, NULL, 0);
	}
	if (c->pidfd > 0)
		close(c->pidfd);
	*c = (struct child){ 0 };
}

int child_wait(struct child *c)
{
	int status;

	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	c->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
