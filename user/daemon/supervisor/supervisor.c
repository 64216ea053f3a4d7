/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, connects and watches the daemon's processes. */
#include "daemon/supervisor/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "daemon/channel/handover.h"
#include "daemon/supervisor/rendezvous.h"

#define TURN_MS    200               /* while something goes on */
#define IDLE_MS    1000              /* between looks at the recorder's pulse */
#define TRIAL_NS   (3 * NS_PER_SEC)  /* a failure in the first start's trial ends the daemon */
#define RETRY_NS   (30 * NS_PER_SEC) /* after a start that failed */
#define CONNECT_NS NS_PER_SEC        /* between two channels that children ask for */
#define END_NS     (5 * NS_PER_SEC)  /* to end after SIGTERM */
#define KILL_NS    (2 * NS_PER_SEC)  /* to end after SIGKILL; longer in a call that never returns */
/* a shorter silence is ignored; for a longer one its cause is looked up */
#define QUIET_NS NS_PER_SEC
/* if the supervisor has not looked for so long, a silence counts from the present */
#define STALL_NS (3 * NS_PER_SEC)
#define LEFT_MAX 3 /* each keeps its memory and its events */

enum which {
	RECORDER,
	WEB,
	NR_CHILDREN,
};

struct child {
	struct supervised what;
	u64 nr_before; /* processes of this kind that have ended */
	pid_t pid;     /* 0: it does not run */
	int sock;
	bool is_mute; /* it has closed its end of `sock` */
	u64 started_ns, start_at_ns;
	struct restart restart;
	u64 killed_ns; /* 0: it was not killed */
};

/*
 * When the recorder fell silent, and how long it had waited for a CPU until then. `excused_ns` does
 * not count: the supervisor did not run either, as in a control group that was frozen.
 */
struct silence {
	u64 beat_ns, waited_ns, excused_ns;
};

struct supervisor {
	const struct supervisor_options *o;
	struct child children[NR_CHILDREN];
	struct rendezvous *rendezvous; /* NULL: both children are ours */
	/* PIDs of recorders that were killed but have not ended; 0: a free place */
	pid_t left[LEFT_MAX];
	bool is_full; /* `left` has no free place: no recorder is started until one ends */
	struct pulse *pulse;
	struct silence silence;
	u64 looked_ns; /* when the recorder's silence was last judged */
	struct excluded_list *excluded;
	int signal_fd;
	u64 connected_ns;
	bool wants_channel;
	bool is_trial, is_ready, is_ending;
	int status;
};

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* In the child: it keeps its own socket, and ends with the supervisor. */
static _Noreturn void run_child(struct supervisor *s, struct child *c, int sock, pid_t parent)
{
	sigset_t none;

	setpgid(0, 0); /* Ctrl-C must not end the web process before the recorder's last parts */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int i = 0; i < NR_CHILDREN; i++)
		if (s->children[i].sock >= 0)
			close(s->children[i].sock);
	if (s->rendezvous)
		rendezvous_close(s->rendezvous);
	close(s->signal_fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, c->what.name);
	exit(c->what.run(sock, c->nr_before, c->what.ctx));
}

static int start_child(struct supervisor *s, struct child *c)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	if (c == &s->children[RECORDER])
		pulse_beat(s->pulse);
	pid_t pid = fork();
	if (!pid) {
		close(pair[0]);
		run_child(s, c, pair[1], parent);
	}
	int err = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	c->pid = pid;
	c->sock = pair[0];
	c->is_mute = false;
	c->started_ns = time_mono_ns();
	return 0;
}

/*
 * The other process belongs to another supervisor: gives our child the end of the connection to it.
 */
static void serve_rendezvous(struct supervisor *s)
{
	for (int i = 0; s->rendezvous && !s->is_ending && i < NR_CHILDREN; i++) {
		struct child *c = &s->children[i];
		if (!c->pid)
			continue;
		if (handover_is_asked(c->sock))
			rendezvous_drop(s->rendezvous);
		int fd = rendezvous_accept(s->rendezvous);
		if (fd >= 0)
			handover_send(c->sock, fd);
	}
}

/* Gives both children an end of a new channel. That answers all earlier requests for a channel. */
static void connect_children(struct supervisor *s)
{
	int ends[2];

	s->wants_channel = false;
	s->connected_ns = time_mono_ns();
	if (!s->children[RECORDER].pid || !s->children[WEB].pid)
		return;
	for (int i = 0; i < NR_CHILDREN; i++)
		handover_is_asked(s->children[i].sock);
	int err = handover_pair(ends);
	if (!err) {
		err = handover_send(s->children[RECORDER].sock, ends[0]);
		err = handover_send(s->children[WEB].sock, ends[1]) ?: err;
	}
	s->wants_channel = err;
	if (err)
		log_debug("recorder and web process cannot be connected: %s", strerror(-err));
}

/* Whether a child may have a channel now. With a rendezvous both sides are looked at in any case.
 */
static bool may_ask(const struct supervisor *s)
{
	return !s->rendezvous && time_mono_ns() - s->connected_ns >= CONNECT_NS;
}

/* A child that asks all the time gets a channel a second. */
static void serve_asks(struct supervisor *s)
{
	serve_rendezvous(s);
	if (s->is_ending || !may_ask(s))
		return;
	for (int i = 0; i < NR_CHILDREN; i++)
		s->wants_channel |= s->children[i].pid && handover_is_asked(s->children[i].sock);
	if (s->wants_channel)
		connect_children(s);
}

static void start_due(struct supervisor *s)
{
	u64 now_ns = time_mono_ns();
	bool started = false;

	for (int i = 0; i < NR_CHILDREN; i++) {
		struct child *c = &s->children[i];
		if (c->pid || !c->what.run || now_ns < c->start_at_ns || s->is_ending)
			continue;
		if (s->rendezvous)
			rendezvous_drop(
				s->rendezvous); /* the connection was that of an earlier child */
		int err = start_child(s, c);
		if (err) {
			log_error("cannot start %s: %s", c->what.name, strerror(-err));
			c->start_at_ns = now_ns + RETRY_NS;
		}
		started = started || !err;
	}
	if (started && !s->rendezvous)
		connect_children(s);
}

static void report_end(const struct child *c, int status)
{
	if (WIFSIGNALED(status))
		log_warn("%s was ended by signal %d (%s); it is started again", c->what.name,
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		log_warn("%s ended with status %d; it is started again", c->what.name,
			 WEXITSTATUS(status));
}

static void reap_left(struct supervisor *s)
{
	for (int i = 0; i < LEFT_MAX; i++)
		if (s->left[i] && waitpid(s->left[i], NULL, WNOHANG) == s->left[i])
			s->left[i] = 0;
}

static void reap(struct supervisor *s)
{
	int status;

	reap_left(s);
	for (int i = 0; i < NR_CHILDREN; i++) {
		struct child *c = &s->children[i];
		if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid)
			continue;
		c->pid = 0;
		c->killed_ns = 0;
		close(take_fd(c->sock));
		if (s->is_ending)
			continue;
		/* The child has logged the reason itself. */
		if (s->is_trial && WIFEXITED(status) && WEXITSTATUS(status)) {
			s->status = WEXITSTATUS(status);
			s->is_ending = true;
			continue;
		}
		c->nr_before++;
		report_end(c, status);
		c->start_at_ns = restart_at_ns(&c->restart, time_mono_ns());
	}
}

/* The next recorder does not read the process that this one was reading. */
static void exclude_target(struct supervisor *s)
{
	struct excluded_list *all = s->excluded;

	if (excluded_add(all, pulse_target(s->pulse)))
		return;
	const struct excluded *e = &all->at[all->nr - 1];
	auto_str struct str comm = { 0 };
	utf8_clean(&comm, e->comm, sizeof(e->comm) * 3);
	log_warn("process %d (%s) is excluded until it ends: a recorder was blocked while it read "
		 "it",
		 e->id.pid, comm.at);
}

/* Kills a child with its own children, which are in its process group. */
static void kill_child(struct child *c)
{
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
	c->killed_ns = time_mono_ns();
}

/*
 * The recorder's silence, less the time for which it waited for a CPU and the time for which the
 * supervisor did not run. Otherwise a recorder on a busy machine, or after a freeze, would seem to
 * hang.
 */
static u64 silent_ns(struct supervisor *s, pid_t pid)
{
	u64 now_ns = time_mono_ns(), passed_ns = now_ns - s->looked_ns;
	u64 ns = pulse_silent_ns(s->pulse), beat_ns = pulse_beat_ns(s->pulse);

	s->looked_ns = now_ns;
	if (ns < QUIET_NS)
		return 0;
	u64 waited_ns = time_waited_for_cpu_ns(pid);
	if (passed_ns > STALL_NS)
		s->silence = (struct silence){ beat_ns, waited_ns, ns };
	if (s->silence.beat_ns != beat_ns)
		s->silence = (struct silence){ beat_ns, waited_ns, 0 };
	u64 more_ns = waited_ns - s->silence.waited_ns + s->silence.excused_ns;
	return ns > more_ns ? ns - more_ns : 0;
}

static void watch_pulse(struct supervisor *s)
{
	struct child *c = &s->children[RECORDER];

	if (!c->pid || c->killed_ns || silent_ns(s, c->pid) < PULSE_SILENT_NS)
		return;
	log_warn("%s has not moved for %llu s; it is killed", c->what.name,
		 PULSE_SILENT_NS / NS_PER_SEC);
	exclude_target(s);
	kill_child(c);
}

/*
 * Stops waiting for a child that was killed and does not end. Returns false if LEFT_MAX such
 * children exist already.
 */
static bool leave_behind(struct supervisor *s, struct child *c)
{
	int i = 0;

	while (i < LEFT_MAX && s->left[i])
		i++;
	if (i == LEFT_MAX)
		return false;
	s->left[i] = c->pid;
	c->nr_before++;
	c->pid = 0;
	c->killed_ns = 0;
	close(take_fd(c->sock));
	return true;
}

/* A system call that never returns, as close() of a file on a dead server, outlasts SIGKILL. */
static void watch_killed(struct supervisor *s)
{
	struct child *c = &s->children[RECORDER];
	pid_t pid = c->pid;

	if (!pid || s->is_ending || !c->killed_ns || time_mono_ns() - c->killed_ns < KILL_NS)
		return;
	if (leave_behind(s, c)) {
		log_warn("%s (%d) does not end: the kernel waits for a file system or a device; "
			 "another one is started",
			 c->what.name, pid);
		c->start_at_ns = restart_at_ns(&c->restart, time_mono_ns());
	} else if (!s->is_full) {
		log_error("%d recorders do not end; no other one is started before one of them "
			  "ends: end the processes that are excluded",
			  LEFT_MAX + 1);
	}
	s->is_full = c->pid != 0;
}

static void serve_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			s->is_ending = true;
		if (info.ssi_signo == SIGHUP && s->children[RECORDER].pid)
			kill(s->children[RECORDER].pid, SIGHUP);
		/* A child that is just starting reads everything anyway. */
		if (info.ssi_signo == SIGHUP && s->children[WEB].pid && s->o->renew)
			s->o->renew(s->children[WEB].sock, s->o->ctx);
	}
}

/* Whether something is due that neither a signal nor a child announces. */
static bool is_busy(const struct supervisor *s)
{
	for (int i = 0; i < NR_CHILDREN; i++) {
		const struct child *c = &s->children[i];
		if (c->what.run && (!c->pid || c->killed_ns))
			return true;
	}
	return s->is_trial || !s->is_ready || s->is_ending || s->wants_channel || !may_ask(s) ||
	       pulse_silent_ns(s->pulse) > QUIET_NS;
}

/* Waits for a signal, for a child that asks for a channel if it may have one, or for some time. */
static void await(struct supervisor *s)
{
	struct pollfd fds[1 + NR_CHILDREN] = { { s->signal_fd, POLLIN, 0 } };

	for (int i = 0; i < NR_CHILDREN; i++) {
		const struct child *c = &s->children[i];
		fds[1 + i] = (struct pollfd){ may_ask(s) && !c->is_mute ? c->sock : -1, POLLIN, 0 };
	}
	poll(fds, ARRAY_SIZE(fds), is_busy(s) ? TURN_MS : IDLE_MS);
	for (int i = 0; i < NR_CHILDREN; i++)
		s->children[i].is_mute |= (fds[1 + i].revents & (POLLHUP | POLLERR)) != 0;
}

static void turn(struct supervisor *s)
{
	await(s);
	serve_signals(s);
	reap(s);
	watch_pulse(s);
	watch_killed(s);
}

/* The recorder first: its last parts still reach the web process. */
static void end_child(struct supervisor *s, struct child *c)
{
	u64 end_ns = time_mono_ns() + END_NS;

	if (c->pid)
		kill(c->pid, SIGTERM);
	while (c->pid && time_mono_ns() < end_ns)
		turn(s);
	if (c->pid)
		kill_child(c);
	while (c->pid && time_mono_ns() - c->killed_ns < KILL_NS)
		turn(s);
}

static bool works(const struct supervisor *s)
{
	const struct child *recorder = &s->children[RECORDER];

	for (int i = 0; i < NR_CHILDREN; i++)
		if (s->children[i].what.run && !s->children[i].pid)
			return false;
	return !recorder->what.run || pulse_has_beaten(s->pulse, recorder->started_ns);
}

int supervisor_run(const struct supervisor_options *o)
{
	struct supervisor s = { .o = o,
				.pulse = o->pulse,
				.excluded = o->excluded,
				.rendezvous = o->rendezvous,
				.is_trial = true };

	s.children[RECORDER] = (struct child){ .what = o->recorder, .sock = -1 };
	s.children[WEB] = (struct child){ .what = o->web, .sock = -1 };
	s.signal_fd = open_signals();
	u64 trial_end_ns = time_mono_ns() + TRIAL_NS;
	while (!s.is_ending) {
		s.is_trial = s.is_trial && time_mono_ns() < trial_end_ns;
		start_due(&s);
		serve_asks(&s);
		turn(&s);
		if (s.is_ready || !works(&s))
			continue;
		s.is_ready = true;
		o->ready(o->ctx);
	}
	s.is_ending = true;
	end_child(&s, &s.children[RECORDER]);
	end_child(&s, &s.children[WEB]);
	close(s.signal_fd);
	return s.status;
}

u64 restart_at_ns(struct restart *r, u64 now_ns)
{
	const u64 credit_ns = (RESTARTS_AT_ONCE - 1) * RESTART_EACH_NS;
	u64 paid_ns = r->paid_until_ns > now_ns ? r->paid_until_ns : now_ns;

	r->paid_until_ns = paid_ns + RESTART_EACH_NS;
	return paid_ns > now_ns + credit_ns ? paid_ns - credit_ns : now_ns;
}
