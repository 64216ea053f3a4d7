/* SPDX-License-Identifier: Apache-2.0 */
/* The child process that sends one command to the agent of one JVM, and the end of all sessions. */
#include "jvm/attach/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/attach/agent_file.h"
#include "jvm/attach/helper.h"
#include "jvm/attach/injector.h"
#include "jvm/attach/readiness.h"
#include "jvm/process/memfds.h"
#include "proc/mem.h"
#include "sandbox/message.h"

#define DYING_NS  NS_PER_SEC
#define ENDING_MS 20

struct injection {
	struct helper *helper; /* the helper that has forked the child; NULL: this process has */
	u64 number;            /* of the child there */
	pid_t child;           /* child of this process; 0 once it is reaped */
	bool has_ended;
	bool is_reported; /* the helper has sent `status` */
	int status;       /* exit status */
	int fd;
	u64 end_ns;
	bool has_result;
	struct inject_result result;
};

/* The helper of this process; NULL: children are forked here, by commands that do not record. */
static struct helper *used;

void inject_use_helper(struct helper *h)
{
	used = h;
}

void inject_nonce(char out[WIRE_NONCE_LEN + 1])
{
	u64 random[2] = { 0, 0 };

	while (getrandom(random, sizeof(random), 0) != sizeof(random))
		;
	snprintf(out, WIRE_NONCE_LEN + 1, "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
}

/* Close all our files in the child: perf events and BPF programs must end with us. */
static void run_here(const struct inject_order *order, int fd, int facts_fd)
{
	int high = facts_fd < 0 ? -1 : fcntl(facts_fd, F_DUPFD_CLOEXEC, 5);
	int last = high < 0 ? 3 : 4;

	if (dup2(fd, 3) < 0 || (high >= 0 && dup2(high, 4) < 0) ||
	    close_range((unsigned)last + 1, ~0u, 0))
		_exit(1);
	injector_prepare();
	mem_set_helper(NULL, NULL); /* its BPF program has been closed */
	_exit(injector_run(order, 3, high < 0 ? -1 : 4));
}

static int start_child(struct injection *i, const struct inject_order *order, int fd)
{
	/* Open the iterator here: the child has no right to open one. */
	auto_close int facts_fd = order->command == INJECT_START ? task_facts_open() : -1;

	i->helper = used;
	if (used)
		return helper_inject(used, order, (int[]){ fd, facts_fd }, &i->number);
	i->child = fork();
	if (!i->child)
		run_here(order, fd, facts_fd);
	return i->child < 0 ? -errno : 0;
}

int inject_start(const struct inject_order *order, struct injection **out)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	auto_free struct injection *i = xcalloc(1, sizeof(*i));
	int err = start_child(i, order, pair[1]);
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	i->fd = pair[0];
	i->end_ns = time_mono_ns() + INJECT_MAX_MS * NS_PER_MS;
	*out = take(i);
	return 0;
}

/* Takes the child's result with the ring, or the helper's report of its end. */
static int take_message(struct injection *i, const struct worker_message *m, int *fds, size_t nr)
{
	u64 number;

	if (m->kind == INJECT_RESULT && !i->has_result && nr <= 1 &&
	    !inject_result_decode(m, &i->result)) {
		i->has_result = true;
		i->result.ring_fd = nr ? take_fd(fds[0]) : -1;
		return 0;
	}
	if (m->kind != INJECT_ENDED || !i->helper || inject_number_decode(m, &number) ||
	    number != i->number)
		return -EPROTO;
	i->status = (int)m->nr;
	i->is_reported = i->has_ended = true;
	return 0;
}

/* Takes all messages that have arrived. The connection ends when the child ends, or by an error. */
static void receive(struct injection *i)
{
	struct worker_message m;
	int fds[WORKER_FDS_MAX];
	size_t nr;

	for (int err = 0; !err;) {
		err = message_receive(i->fd, &m, fds, &nr) ?: take_message(i, &m, fds, nr);
		for (size_t k = 0; k < nr; k++)
			if (fds[k] >= 0)
				close(fds[k]);
		if (err && err != -EAGAIN && i->helper)
			i->has_ended = true;
	}
}

static bool reap(struct injection *i)
{
	if (!i->has_ended && !i->helper)
		i->has_ended = waitpid(i->child, &i->status, WNOHANG) == i->child;
	receive(i);
	return i->has_ended;
}

static void end(struct injection *i)
{
	if (i->helper)
		helper_kill(i->helper, i->number);
	else
		kill(i->child, SIGKILL);
}

/* Explains why a child has ended without a result. */
static void explain_end(const struct injection *i, bool is_late, struct inject_result *out)
{
	size_t size = sizeof(out->reason);

	if (is_late)
		snprintf(out->reason, size,
			 "the attach took longer than %d s; is it stopped or swapped out?",
			 INJECT_MAX_MS / 1000);
	else if (i->helper && !i->is_reported)
		snprintf(out->reason, size, INJECT_NO_HELPER);
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

	if (is_late && !i->has_ended)
		end(i);
	/* In some system calls the kill has no effect, for example on a frozen file system. */
	if (!reap(i) && now < i->end_ns + DYING_NS)
		return INJECT_RUNNING;
	if (i->has_result) {
		*out = i->result;
		i->result.ring_fd = -1; /* the caller's now */
	} else {
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
		end(i);
	for (int ms = 0; ms < ENDING_MS && !reap(i); ms++)
		usleep(1000);
	if (i->has_result && i->result.ring_fd >= 0)
		close(i->result.ring_fd);
	close(i->fd);
	free(i);
}

#define NEXT_EVENT_NS NS_PER_SEC /* while code is compiled, there is an event every few ms */

static bool await_end_of_sessions(pid_t pid)
{
	for (u64 end = time_mono_ns() + NEXT_EVENT_NS; memfds_any(pid) > 0; usleep(10000))
		if (time_mono_ns() > end)
			return false;
	return true;
}

char *inject_detach_all(const char *path, struct process_id id, bool *is_pending)
{
	auto_free char *file = agent_file_find(path);
	struct inject_order stop = { .command = INJECT_STOP_ALL, .id = id, .agent_path = file };
	struct inject_result result = { .outcome = INJECT_REFUSED };
	struct injection *injection = NULL;

	inject_nonce(stop.nonce);
	if (!file)
		strcpy(result.reason, agent_file_missing(path));
	else if (inject_start(&stop, &injection))
		strcpy(result.reason, "cannot start a process for the command");
	while (injection && inject_poll(injection, &result) == INJECT_RUNNING)
		usleep(1000);
	inject_free(injection);
	if (result.outcome != INJECT_DONE)
		return xstrdup(result.reason);
	*is_pending = !await_end_of_sessions(id.pid);
	return NULL;
}
