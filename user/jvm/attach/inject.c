/* SPDX-License-Identifier: Apache-2.0 */
/* The child process that sends one command to the agent of one JVM. */
#include "jvm/attach/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/attach/injector.h"
#include "proc/mem.h"

#define DYING_NS  NS_PER_SEC
#define ENDING_MS 20

struct injection {
	pid_t child;
	int status; /* exit status */
	int fd;
	u64 end_ns;
};

void inject_nonce(char out[WIRE_NONCE_LEN + 1])
{
	u64 random[2] = { 0, 0 };

	while (getrandom(random, sizeof(random), 0) != sizeof(random))
		;
	snprintf(out, WIRE_NONCE_LEN + 1, "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
}

/* Close all our files in the child: perf events and BPF programs must end with us. */
static void leave_parent(int fd)
{
	if (dup2(fd, 3) < 0)
		_exit(1);
	if (close_range(4, ~0u, 0))
		_exit(1);
	setsid(); /* Ctrl-C is for the parent, which then waits for us */
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, sig == SIGPIPE ? SIG_IGN : SIG_DFL);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "sysflame-inject");
	mem_set_helper(NULL, NULL); /* its BPF program has been closed */
	/* A limit in case the parent dies and cannot kill us. */
	alarm(INJECT_MAX_MS / 1000 + 5);
}

int inject_start(const struct inject_order *order, struct injection **out)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t child = fork();
	if (child == 0) {
		leave_parent(pair[1]);
		_exit(injector_run(order, 3));
	}
	int err = -errno;
	close(pair[1]);
	if (child < 0) {
		close(pair[0]);
		return err;
	}
	struct injection *i = xcalloc(1, sizeof(*i));
	i->child = child;
	i->fd = pair[0];
	i->end_ns = time_mono_ns() + INJECT_MAX_MS * NS_PER_MS;
	*out = i;
	return 0;
}

/* Receives the child's message; false if there is none (yet). */
static bool receive(struct injection *i, struct inject_result *out)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct inject_result result;
	struct iovec iov = { &result, sizeof(result) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };

	ssize_t len = recvmsg(i->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len != sizeof(result))
		return false;
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	result.ring_fd = -1;
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&result.ring_fd, CMSG_DATA(head), sizeof(int));
	*out = result;
	return true;
}

static bool reap(struct injection *i)
{
	if (i->child && waitpid(i->child, &i->status, WNOHANG) == i->child)
		i->child = 0;
	return !i->child;
}

/* Explains why a child has ended without a result. */
static void explain_end(const struct injection *i, bool is_late, struct inject_result *out)
{
	size_t size = sizeof(out->reason);

	if (is_late)
		snprintf(out->reason, size,
			 "the attach took longer than %d s; is it stopped or swapped out?",
			 INJECT_MAX_MS / 1000);
	else if (WIFSIGNALED(i->status))
		snprintf(out->reason, size,
			 "the attaching process was killed by signal %d; find out who sent it, for "
			 "signal 9 in the kernel's log",
			 WTERMSIG(i->status));
	else
		snprintf(out->reason, size,
			 "the attaching process could not restore its own user's ids; "
			 "report it");
}

enum inject_outcome inject_poll(struct injection *i, struct inject_result *out)
{
	u64 now = time_mono_ns();
	bool is_late = now > i->end_ns;

	if (is_late && i->child)
		kill(i->child, SIGKILL);
	/* In some system calls the kill has no effect, for example on a frozen file system. */
	if (!reap(i) && now < i->end_ns + DYING_NS)
		return INJECT_RUNNING;
	if (!receive(i, out)) {
		*out = (struct inject_result){ .outcome = INJECT_RETRY,
					       .was_signalled = true, /* possibly */
					       .is_lasting = true,
					       .ring_fd = -1 };
		explain_end(i, is_late, out);
	}
	return out->outcome;
}

bool inject_has_ended(struct injection *i)
{
	return reap(i);
}

void inject_free(struct injection *i)
{
	if (!i)
		return;
	if (!reap(i))
		kill(i->child, SIGKILL);
	for (int ms = 0; ms < ENDING_MS && !reap(i); ms++)
		usleep(1000);
	close(i->fd);
	free(i);
}
