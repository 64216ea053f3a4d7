/* SPDX-License-Identifier: Apache-2.0 */
/* A process of its own for a library, and the one that starts it again. */
#include "proc/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/rights.h"

#define SOCK_FD     3 /* in the process */
#define DELAY_FIRST 3 /* s before it is started again, at most */
#define DELAY_MAX   60

static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static void keep_only(int sock)
{
	if (sock != SOCK_FD)
		dup2(sock, SOCK_FD);
	fcntl(SOCK_FD, F_SETFD, 0);
	close_range(SOCK_FD + 1, ~0u, 0);
}

static pid_t start(guarded_fn run, const void *ctx)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	die_with_parent(parent);
	_exit(run(SOCK_FD, ctx));
}

static u32 random_below(u32 nr)
{
	u32 value = 0;

	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		return 0;
	return value % nr;
}

/* The first crash may be chance; a process that crashes again and again rests longer. */
static int guard(guarded_fn run, const void *ctx)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "sysflame-guard");
	prctl(PR_SET_DUMPABLE, 0);
	for (u32 nr = 0;; nr++) {
		int status = 0;
		pid_t child = start(run, ctx);
		if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		    !WEXITSTATUS(status))
			return 0;
		sleep(1 + random_below(nr ? DELAY_MAX : DELAY_FIRST));
	}
}

int guarded_start(guarded_fn run, const void *ctx, int *sock)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t parent = getpid(), child = fork();
	if (!child) {
		die_with_parent(parent);
		keep_only(ends[1]);
		_exit(guard(run, ctx));
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*sock = ends[0];
	return 0;
}

int guarded_confine(const char *dir)
{
	/* What the C library and OpenSSL read to resolve names and to check servers. */
	const struct file_grant grants[] = {
		{ .path = "/etc/resolv.conf" },
		{ .path = "/etc/hosts" },
		{ .path = "/etc/nsswitch.conf" },
		{ .path = "/etc/gai.conf" },
		{ .path = "/etc/host.conf" },
		{ .path = "/etc/ssl" },
		{ .path = "/etc/services" },
		{ .path = "/etc/ld.so.cache" },
		{ .path = "/usr/share/ca-certificates" },
		{ .path = "/run/systemd/resolve" },
		{ .path = "/lib" },
		{ .path = "/usr/lib" },
		{ .path = "/dev/urandom" },
		{ .path = dir },
	};
	int err = privileges_keep(PRIVILEGED_NETWORK, 0);

	if (err)
		return err;
	err = file_filter_load(grants, ARRAY_SIZE(grants) - !dir);
	if (err && err != -ENOSYS && err != -EOPNOTSUPP)
		return err;
	return call_filter_load(PRIVILEGED_NETWORK);
}
