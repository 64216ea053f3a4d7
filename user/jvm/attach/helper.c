/* SPDX-License-Identifier: Apache-2.0 */
/* The attach helper. */
#include "jvm/attach/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/signals.h"
#include "jvm/attach/agent_file.h"
#include "jvm/attach/inject.h"
#include "jvm/attach/injector.h"
#include "proc/open_request.h"
#include "proc/target_file.h"
#include "sandbox/message.h"
#include "sandbox/rights.h"

#define CHILDREN_MAX 128 /* enough for 16 attaches, and for children that clean up after others */
/* openers besides these children: all but one of them hang in a file system */
#define OPENERS_MAX 32
#define READY_MS    2000
#define ENDING_MS   200
#define SOCK        3 /* of the helper and of each child */
#define FACTS       4 /* of a child that attaches: see readiness.h */

struct helper {
	pid_t pid;
	int pidfd, sock;
	u64 number; /* of the last child */
};

struct child {
	u64 number;
	pid_t pid;
	int pidfd;
	bool is_opener;
	int sock; /* receives a message on how the child ended; -1: nobody waits for one */
};

/* In the helper. */
struct children {
	const char *agent_path;
	struct child at[CHILDREN_MAX + OPENERS_MAX];
	size_t nr, nr_openers;
};

/* A process that waits for a file system must not hold a pipe or a terminal open. */
static void close_terminal(int last)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0)
		_exit(1);
	for (int fd = STDOUT_FILENO; fd <= last; fd++)
		if (dup2(out, fd) < 0)
			_exit(1);
	if (in > last)
		close(in);
	if (out > last)
		close(out);
}

/* Only the standard streams and these descriptors stay open; fds[1] may be -1. */
static void keep(const int fds[2])
{
	int last = fds[1] < 0 ? SOCK : FACTS;

	if ((fds[1] >= 0 && fds[1] < FACTS) || dup2(fds[0], SOCK) < 0 ||
	    (last == FACTS && dup2(fds[1], FACTS) < 0) || close_range((unsigned)last + 1, ~0u, 0))
		_exit(1);
}

static int run_opener(pid_t helper)
{
	prctl(PR_SET_NAME, "sysflame-opener");
	close_terminal(STDERR_FILENO);
	if (privileges_keep(PRIVILEGED_OPENER, 0))
		return 1;
	target_file_tie(helper);
	call_filter_load(PRIVILEGED_OPENER);
	opener_serve(SOCK, "");
	return 0;
}

static int run_child(const struct worker_message *m, const struct inject_order *order,
		     const int fds[2], pid_t helper)
{
	keep(fds);
	if (m->kind == INJECT_OPENER)
		return run_opener(helper);
	injector_prepare();
	return injector_run(order, SOCK, fds[1] < 0 ? -1 : FACTS);
}

static void add_child(struct children *all, const struct worker_message *m, u64 number,
		      const struct inject_order *order, const int fds[2])
{
	struct child c = { .number = number, .is_opener = m->kind == INJECT_OPENER, .sock = -1 };

	if (c.is_opener ? all->nr_openers == OPENERS_MAX
			: all->nr - all->nr_openers == CHILDREN_MAX)
		return; /* the socket is closed, which the recorder sees */
	pid_t helper = getpid();
	c.pid = fork();
	if (!c.pid)
		_exit(run_child(m, order, fds, helper));
	if (c.pid < 0)
		return;
	c.pidfd = (int)syscall(SYS_pidfd_open, c.pid, 0);
	if (m->kind == INJECT_ORDER)
		c.sock = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	all->at[all->nr++] = c;
	all->nr_openers += c.is_opener;
}

static void kill_child(const struct children *all, u64 number)
{
	for (size_t i = 0; i < all->nr; i++)
		if (all->at[i].number == number)
			kill(all->at[i].pid, SIGKILL);
}

/* Reports how the child ended. The recorder may not read: this must not wait for it. */
static void end_child(struct children *all, size_t i, int status)
{
	struct child c = all->at[i];
	struct worker_message m;

	all->at[i] = all->at[--all->nr];
	all->nr_openers -= c.is_opener;
	close(c.pidfd);
	if (c.sock < 0)
		return;
	inject_number_encode(INJECT_ENDED, c.number, &m);
	m.nr = (u32)status;
	fcntl(c.sock, F_SETFL, O_NONBLOCK);
	message_send(c.sock, &m, NULL, 0);
	close(c.sock);
}

static int handle(struct children *all, const struct worker_message *m, const int *fds, size_t nr)
{
	struct inject_order order;
	u64 number;
	int err = m->kind == INJECT_ORDER ? inject_order_decode(m, all->agent_path, &number, &order)
					  : inject_number_decode(m, &number);

	if (err)
		return err;
	if (m->kind == INJECT_KILL && !nr)
		kill_child(all, number);
	else if ((m->kind == INJECT_ORDER && nr && nr <= 2) ||
		 (m->kind == INJECT_OPENER && nr == 1))
		add_child(all, m, number, &order, (int[]){ fds[0], nr == 2 ? fds[1] : -1 });
	else
		return -EPROTO;
	return 0;
}

/* An invalid message ends the helper: the recorder was taken over, or has an error. */
static int receive(struct children *all)
{
	struct worker_message m;
	int fds[WORKER_FDS_MAX];
	size_t nr;
	int err = message_receive(SOCK, &m, fds, &nr) ?: handle(all, &m, fds, nr);

	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	return err;
}

static void serve(struct children *all)
{
	struct pollfd polled[CHILDREN_MAX + OPENERS_MAX + 1];

	for (;;) {
		polled[0] = (struct pollfd){ SOCK, POLLIN, 0 };
		for (size_t i = 0; i < all->nr; i++)
			polled[1 + i] = (struct pollfd){ all->at[i].pidfd, POLLIN, 0 };
		if (poll(polled, 1 + all->nr, -1) < 0 && errno != EINTR)
			return;
		for (size_t i = all->nr; i-- > 0;) {
			int status;
			if (polled[1 + i].revents &&
			    waitpid(all->at[i].pid, &status, WNOHANG) == all->at[i].pid)
				end_child(all, i, status);
		}
		if (polled[0].revents && receive(all))
			return;
	}
}

/*
 * Ends the openers: without further orders they exit. An opener that waits for a file system ends
 * when the file system answers.
 */
static void end_openers(struct children *all)
{
	for (size_t i = 0; i < all->nr; i++) {
		if (all->at[i].sock >= 0)
			continue;
		kill(all->at[i].pid, SIGKILL);
		poll(&(struct pollfd){ all->at[i].pidfd, POLLIN, 0 }, 1, ENDING_MS / 2);
		waitpid(all->at[i].pid, NULL, WNOHANG);
	}
}

static void run_helper(int sock, const char *agent_path)
{
	const struct worker_message ready = { .kind = WORKER_RESULT };
	struct children all = { .agent_path = agent_path };
	pid_t parent = getppid();

	keep((int[]){ sock, -1 });
	close_terminal(STDOUT_FILENO);
	setpgid(0, 0); /* as in injector_prepare */
	signals_leave_to_parent();
	prctl(PR_SET_NAME, "sysflame-attach");
	/*
	 * The recorder waits for each file that an opener opens, and a JVM stands still while it is
	 * changed. With 70 programs that want two CPUs, no file opened in time, and all stacks
	 * were cut.
	 */
	precedence_take();
	if (privileges_keep(PRIVILEGED_ATTACH, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    getppid() != parent)
		_exit(1);
	/* Without seccomp in the kernel there is no filter; the recorder says so. */
	call_filter_load(PRIVILEGED_ATTACH);
	if (!message_send(SOCK, &ready, NULL, 0))
		serve(&all);
	end_openers(&all);
	_exit(0);
}

int helper_start(const char *agent_path, struct helper **out)
{
	auto_free char *path = agent_file_find(agent_path);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t pid = fork();
	if (!pid)
		run_helper(pair[1], path ?: "");
	int err = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	struct helper *h = xcalloc(1, sizeof(*h));
	*h = (struct helper){ pid, (int)syscall(SYS_pidfd_open, pid, 0), pair[0], 0 };
	*out = h;
	return 0;
}

int helper_await(struct helper *h)
{
	struct worker_message m;
	int fds[WORKER_FDS_MAX];
	size_t nr;

	if (poll(&(struct pollfd){ h->sock, POLLIN, 0 }, 1, READY_MS) != 1)
		return -ETIMEDOUT;
	int err = message_receive(h->sock, &m, fds, &nr);
	if (!err)
		fcntl(h->sock, F_SETFL, O_NONBLOCK);
	return err;
}

void helper_free(struct helper *h)
{
	if (!h)
		return;
	close(h->sock);
	/*
	 * The child has other rights than this process, which perhaps may not kill it. The child
	 * ends with this process at the latest.
	 */
	poll(&(struct pollfd){ h->pidfd, POLLIN, 0 }, 1, ENDING_MS);
	waitpid(h->pid, NULL, WNOHANG);
	close(h->pidfd);
	free(h);
}

bool helper_has_ended(struct helper *h)
{
	return poll(&(struct pollfd){ h->pidfd, POLLIN, 0 }, 1, 0) == 1;
}

int helper_inject(struct helper *h, const struct inject_order *order, const int fds[2], u64 *number)
{
	struct worker_message m;

	inject_order_encode(order, *number = ++h->number, &m);
	return message_send(h->sock, &m, fds, fds[1] < 0 ? 1 : 2);
}

int helper_open(struct helper *h, int sock, u64 *number)
{
	struct worker_message m;

	inject_number_encode(INJECT_OPENER, *number = ++h->number, &m);
	return message_send(h->sock, &m, &sock, 1);
}

void helper_kill(struct helper *h, u64 number)
{
	struct worker_message m;

	inject_number_encode(INJECT_KILL, number, &m);
	message_send(h->sock, &m, NULL, 0);
}
