/* SPDX-License-Identifier: Apache-2.0 */
/* Forks workers. */
#include "sandbox/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/time.h"
#include "sandbox/message.h"
#include "sandbox/sandbox.h"

#define ANSWER_MS  2000
#define STARVED_MS 8000 /* additional time if the zygote waits for a CPU */
#define ENDING_MS  200

#define SPARE_CPU_S 5 /* after the deadline: the kernel ends a worker that nobody ended */

/*
 * The requests to the zygote, in `what` of a REQUEST. The answer is a RESULT with the request's
 * number as `what`, and the PID as `nr`.
 */
enum zygote_request {
	ZYGOTE_FORK, /* with the worker's socket and shared memory; `nr`: the request's number */
	ZYGOTE_KILL, /* `nr`: the PID */
};

/* Only the descriptors that a process was given stay open, from `first` on. */
static void keep_fds(const int *fds, int nr, int first)
{
	int copies[WORKER_FDS_MAX];

	/* First move the descriptors beyond all target numbers, so that none overwrites another. */
	for (int i = 0; i < nr; i++)
		copies[i] = fcntl(fds[i], F_DUPFD, first + nr);
	for (int i = 0; i < nr; i++)
		dup2(copies[i], first + i);
	close_range((unsigned)(first + nr), ~0u, 0);
}

/*
 * A worker has nothing to print: output could only come from a file that exploits its parser.
 * Sanitizers keep standard error for their report.
 */
static void close_terminal(void)
{
	int in = open("/dev/null", O_RDONLY), out = open("/dev/null", O_WRONLY);

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
#ifndef __SANITIZE_ADDRESS__
	dup2(out, STDERR_FILENO);
#endif
	close(in);
	close(out);
}

/*
 * Has the kernel end a worker rather than the recorder, or the zygote, when memory is short. While
 * the process is not dumpable, the file oom_score_adj belongs to root. Best effort: without /proc
 * the file does not exist.
 */
static void raise_oom_score(void)
{
	prctl(PR_SET_DUMPABLE, 1);
	auto_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	prctl(PR_SET_DUMPABLE, 0);
	if (fd < 0 || write(fd, "1000", 4) < 0)
		log_debug("the kernel may end the recorder before its workers");
}

static void run_worker(const int fds[2], const struct worker_kind *kind)
{
	keep_fds(fds, 2, 3);
	prctl(PR_SET_NAME, "sysflame-worker");
	raise_oom_score();
	void *shared = mmap(NULL, WORKER_RESULT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
	close(4);
	/*
	 * RLIMIT_CPU counts the process's whole life, so it fits only workers that end after one
	 * task.
	 */
	u64 cpu_s = kind->ends_after_task ? kind->cpu_ns / NS_PER_SEC + SPARE_CPU_S : 0;
	if (shared == MAP_FAILED || sandbox_enter(kind->memory_bytes, cpu_s))
		_exit(1);
	worker_serve(3, shared, kind);
	_exit(0);
}

static void fork_worker(int sock, u32 number, const int *fds, size_t nr,
			const struct worker_kind *kind)
{
	struct worker_message answer = { .kind = WORKER_RESULT, .what = number };
	pid_t pid = nr == 2 ? fork() : -1;

	if (!pid)
		run_worker(fds, kind);
	if (pid > 0)
		answer.nr = (u32)pid;
	else
		answer.err = -EAGAIN;
	message_send(sock, &answer, NULL, 0);
}

static void serve(int sock, const struct worker_kind *kind)
{
	struct worker_message m;
	int fds[WORKER_FDS_MAX];
	size_t nr;

	while (!message_receive(sock, &m, fds, &nr)) {
		if (m.what == ZYGOTE_KILL)
			kill((pid_t)m.nr, SIGKILL);
		else
			fork_worker(sock, m.nr, fds, nr, kind);
		for (size_t i = 0; i < nr; i++)
			close(fds[i]);
	}
}

static void run_zygote(int sock, const struct worker_kind *kind)
{
	const struct worker_message ready = { .kind = WORKER_RESULT };
	pid_t parent = getppid();

	close_terminal();
	keep_fds(&sock, 1, 3);
	signals_leave_to_parent();
	signal(SIGCHLD, SIG_IGN); /* the kernel reaps the workers */
	prctl(PR_SET_NAME, "sysflame-zygote");
	if (sandbox_drop_rights() || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	if (!message_send(3, &ready, NULL, 0))
		serve(3, kind);
	_exit(0);
}

/* Opens the file early: later this process may see no files. */
static int open_schedstat(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int zygote_start(const struct worker_kind *kind, struct zygote *out)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t pid = fork();
	if (!pid)
		run_zygote(pair[1], kind);
	int err = pid < 0 ? -errno : 0;
	close(pair[1]);
	*out = (struct zygote){ .pid = pid, .sock = pair[0], .sched_fd = -1 };
	if (!err)
		out->sched_fd = open_schedstat(pid);
	if (err)
		zygote_stop(out);
	return err;
}

int zygote_await(struct zygote *z)
{
	struct worker_message ready;
	int fds[WORKER_FDS_MAX];
	size_t nr;
	int err = z->is_ready ? 0 : message_receive(z->sock, &ready, fds, &nr);

	z->is_ready = !err;
	if (err)
		zygote_stop(z);
	return err;
}

/* How long the zygote was ready to run but had no CPU. 0 if the kernel does not count that. */
static u64 waited_ns(const struct zygote *z)
{
	char text[64] = "";
	unsigned long long ns;

	return z->sched_fd >= 0 && pread(z->sched_fd, text, sizeof(text) - 1, 0) > 0 &&
			       sscanf(text, "%*u %llu", &ns) == 1
		       ? ns
		       : 0;
}

/*
 * Waits until the socket is readable, at most ANSWER_MS. On a crowded machine the time in which the
 * zygote has no CPU does not count.
 */
static bool await_socket(const struct zygote *z, u64 began_ns, u64 waited_before_ns)
{
	for (;;) {
		u64 starved_ns = waited_ns(z) - waited_before_ns, now = time_mono_ns();
		if (starved_ns > STARVED_MS * NS_PER_MS)
			starved_ns = STARVED_MS * NS_PER_MS;
		u64 until = began_ns + ANSWER_MS * NS_PER_MS + starved_ns;
		int ms = now < until ? (int)((until - now) / NS_PER_MS) + 1 : 0;
		int ready = poll(&(struct pollfd){ z->sock, POLLIN, 0 }, 1, ms);
		if (ready == 1)
			return true;
		if (!ready && !ms)
			return false;
	}
}

/* Passes over the answers to earlier requests, which came too late. */
static int await_answer(struct zygote *z, struct worker_message *m)
{
	u64 began_ns = time_mono_ns(), waited_before_ns = waited_ns(z);
	int fds[WORKER_FDS_MAX];
	size_t nr;

	for (;;) {
		if (!await_socket(z, began_ns, waited_before_ns))
			return -ETIMEDOUT; /* somebody has stopped it */
		int err = message_receive(z->sock, m, fds, &nr);
		if (err)
			return err;
		for (size_t i = 0; i < nr; i++)
			close(fds[i]);
		z->is_ready = true; /* its first message says so */
		if (m->what == z->number)
			return 0;
	}
}

pid_t zygote_fork(struct zygote *z, int sock, int shared)
{
	struct worker_message m = { .kind = WORKER_REQUEST,
				    .what = ZYGOTE_FORK,
				    .nr = ++z->number };
	const int given[2] = { sock, shared };
	int err = message_send(z->sock, &m, given, 2) ?: await_answer(z, &m);

	return err ? err : m.err ? m.err : (pid_t)m.nr;
}

void zygote_kill(const struct zygote *z, pid_t worker)
{
	const struct worker_message m = { .kind = WORKER_REQUEST,
					  .what = ZYGOTE_KILL,
					  .nr = (u32)worker };

	message_send(z->sock, &m, NULL, 0);
}

void zygote_stop(struct zygote *z)
{
	if (z->sock >= 0)
		close(take_fd(z->sock));
	if (z->sched_fd >= 0)
		close(take_fd(z->sched_fd));
	if (z->pid > 0) {
		/*
		 * The zygote runs as another user by now. Without CAP_KILL this fails; the zygote
		 * then ends when its socket closes, or with this process.
		 */
		kill(z->pid, SIGKILL);
		auto_close int pidfd = (int)syscall(SYS_pidfd_open, z->pid, 0);
		poll(&(struct pollfd){ pidfd, POLLIN, 0 }, 1, ENDING_MS);
		waitpid(z->pid, NULL, WNOHANG);
	}
	z->pid = 0;
}
