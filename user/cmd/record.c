/* SPDX-License-Identifier: Apache-2.0 */
/* sysflame record: profiles the node, some processes or a command, and writes the profile. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/features.h"
#include "capture/session.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "cmd/record_options.h"
#include "cmd/summary.h"
#include "cmd/transforming.h"
#include "profile/names.h"

#define TIMELINE_SLOT_NS (10 * NS_PER_MS)

struct record {
	struct record_options o;
	struct child child;
	struct session *session;
	int signal_fd;
};

/* Finds out before the recording whether its result can be written. */
static int try_output(const struct record *r)
{
	struct outfile *out;

	if (!strcmp(r->o.output, "-"))
		return 0;
	int err = outfile_open(r->o.output, &out);
	if (err) {
		log_error("cannot write %s: %s", r->o.output, strerror(-err));
		return err;
	}
	outfile_abort(out);
	return 0;
}

/* Also the output's file is put into its place by way of /proc. */
static int check_place(void)
{
	if (access("/proc/self/fd", F_OK)) {
		log_error("there is no /proc here, so no process is known; mount it: mount -t proc "
			  "proc /proc");
		return -ENOENT;
	}
	if (features_has_host_pids())
		return 0;
	log_error("this is a pid namespace, in which processes have other numbers than the kernel "
		  "knows them by; run the container with --pid=host (Kubernetes: hostPID: true)");
	return -ENOTSUP;
}

static int check_pids(const struct record *r)
{
	auto_str struct str why = { 0 };
	int err = targets_check_pids(r->o.targets, &why);

	if (err)
		log_error("%s", why.at);
	return err;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* From the first signal on, a second one ends the program at once. */
static void let_signals_kill(const struct record *r)
{
	struct signalfd_siginfo first;
	sigset_t none;

	/* Else it would still be pending, and kill. */
	if (read(r->signal_fd, &first, sizeof(first)) < 0)
		log_debug("the recording ended without a signal");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Until the time is over, a signal comes, or what is profiled has ended. */
static void run(struct record *r)
{
	u64 start_ns = time_mono_ns(), limit_ns = (u64)(r->o.duration_s * 1e9);
	bool live = !r->o.quiet && isatty(STDERR_FILENO);

	log_debug("recording");
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = r->signal_fd, .events = POLLIN },
			{ .fd = r->o.command ? r->child.pidfd : -1, .events = POLLIN },
			{ .fd = session_fd(r->session), .events = POLLIN },
		};
		if (targets_are_waited_for(r->o.targets))
			start_ns = time_mono_ns();
		u64 elapsed_ns = time_mono_ns() - start_ns;
		int timeout_ms = session_tick_ms(r->session);
		if (limit_ns && elapsed_ns >= limit_ns)
			break;
		if (limit_ns && (limit_ns - elapsed_ns) / NS_PER_MS < (u64)timeout_ms)
			timeout_ms = (int)((limit_ns - elapsed_ns) / NS_PER_MS) + 1;
		poll(fds, ARRAY_SIZE(fds), timeout_ms);
		if (fds[2].revents)
			usleep(SESSION_PAUSE_MS * 1000);
		session_tick(r->session);
		if (live)
			summary_live(r->session, elapsed_ns);
		if (fds[0].revents || fds[1].revents ||
		    (!r->o.command && targets_have_ended(r->o.targets)))
			break;
	}
	if (live)
		summary_live_end();
}

/* Every process, JVM and probe that is followed takes descriptors. Commands keep their own limit.
 */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int start(struct record *r)
{
	struct session_options options = {
		.events = &r->o.events,
		.sampling = r->o.sampling,
		.targets = r->o.targets,
		.ring_bytes = (size_t)r->o.ring_kb << 10,
		.levels = r->o.levels,
		.thread = r->o.thread ? &r->o.thread_regex : NULL,
		.agent = r->o.agent,
		.agent_path = r->o.agent_path,
		.slot_ns = r->o.timeline ? TIMELINE_SLOT_NS : 0,
		.measure = r->o.measure,
		.lines = r->o.lines,
	};

	r->signal_fd = open_signals();
	if (r->o.command) {
		int err = child_hold(r->o.command, &r->child);
		if (err) {
			log_error("cannot start %s: %s", r->o.command[0], strerror(-err));
			return err;
		}
		targets_add_command(r->o.targets, r->child.pid, r->o.command);
	}
	raise_descriptor_limit();
	int err = session_start(&options, &r->session);
	if (err || !r->o.command)
		return err;
	err = child_release(&r->child);
	if (err)
		log_error("cannot run %s: %s", r->o.command[0], strerror(-err));
	return err;
}

/* Returns the exit status. */
static int record(struct record *r)
{
	u64 size_bytes = 0;

	if (check_place() || try_output(r) || check_pids(r) || start(r))
		return EXIT_FAILED;
	run(r);
	let_signals_kill(r);
	session_stop(r->session);
	profile_name_frames(session_profile(r->session), r->o.raw_names ? NAMES_RAW : NAMES_SHOWN);
	if (transforming_apply(&r->o.transforms, r->o.format, session_profile(r->session)) ||
	    profile_file_write(session_profile(r->session), r->o.output, r->o.format, &size_bytes))
		return EXIT_FAILED;
	if (!r->o.quiet && r->o.has_no_output)
		summary_top(r->session);
	if (!r->o.quiet)
		summary_print(r->session, r->o.output, size_bytes);
	if (r->o.agent == AGENT_ALWAYS && summary_refused(r->session))
		return EXIT_FAILED;
	if (!r->o.command)
		return 0;
	/* The profile may have ended first, by -d or a signal. */
	int status = child_wait(&r->child);
	return status < 0 ? EXIT_FAILED : status;
}

int record_main(int argc, char **argv)
{
	struct record r = { .o = record_options_default(), .signal_fd = -1 };

	int done = record_options_parse(&r.o, argc, argv);
	int status = done < 0 ? EXIT_USAGE : done > 0 ? 0 : record(&r);

	session_free(r.session);
	child_fini(&r.child);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	record_options_fini(&r.o);
	return status;
}
