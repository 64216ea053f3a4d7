/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysflame record: profiles the node, some processes or a command, and writes the profile.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/time.h"
#include "capture/features.h"
#include "capture/kernel/descriptors.h"
#include "capture/node.h"
#include "capture/recording.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/no_samples.h"
#include "cmd/output_rights.h"
#include "cmd/profile_file.h"
#include "cmd/record_options.h"
#include "cmd/summary.h"
#include "cmd/transforming.h"
#include "profile/names.h"

#define TIMELINE_SLOT_NS (10 * NS_PER_MS)
#define LIVE_EVERY_NS    (200 * NS_PER_MS)

struct record {
	struct record_options o;
	struct child child;
	struct node *node;
	struct recording *recording;
	struct sink *sink;
	struct cut *cut; /* all of the recording */
	int signal_fd;
};

/* Checks before the recording that the output can be written. */
static int try_output(const struct record *r)
{
	struct outfile *out = NULL;
	int err = r->o.has_no_output ? outfile_open_new(r->o.output, &out)
				     : outfile_try(r->o.output, r->o.force);

	outfile_abort(out);
	if (err)
		log_error("cannot write %s: %s", r->o.output, outfile_why(err));
	return err;
}

/* Without /proc the output file could not be linked into place either. */
static int check_place(void)
{
	if (access("/proc/self/fd", F_OK)) {
		log_error("there is no /proc here, so no process is known; mount it: mount -t proc "
			  "proc /proc");
		return -ENOENT;
	}
	return features_check_host_pids();
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

/* The first signal ends the recording, a second one the program. */
static void let_signals_kill(const struct record *r)
{
	struct signalfd_siginfo first;
	sigset_t none;

	/* Otherwise it would stay pending and kill the program. */
	if (read(r->signal_fd, &first, sizeof(first)) < 0)
		log_debug("the recording ended without a signal");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static u64 duration_ns(const struct record *r)
{
	return (u64)(r->o.duration_s * 1e9);
}

/* Until the time is over, a signal arrives, or the profiled command has ended. */
static void run(struct record *r)
{
	u64 limit_ns = duration_ns(r), shown_ns = 0;
	bool live = !r->o.quiet && isatty(STDERR_FILENO);

	log_debug("recording");
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = r->signal_fd, .events = POLLIN },
			{ .fd = r->o.command ? r->child.pidfd : -1, .events = POLLIN },
			{ .fd = node_fd(r->node), .events = POLLIN },
		};
		u64 elapsed_ns = recording_elapsed_ns(r->recording);
		int timeout_ms = node_tick_ms(r->node);
		if (limit_ns && elapsed_ns >= limit_ns)
			break;
		if (limit_ns && (limit_ns - elapsed_ns) / NS_PER_MS < (u64)timeout_ms)
			timeout_ms = (int)((limit_ns - elapsed_ns) / NS_PER_MS) + 1;
		poll(fds, ARRAY_SIZE(fds), timeout_ms);
		if (fds[2].revents)
			node_woken(r->node);
		node_tick(r->node);
		if (live && time_mono_ns() - shown_ns >= LIVE_EVERY_NS) {
			shown_ns = time_mono_ns();
			summary_live(r->recording, elapsed_ns);
		}
		if (fds[0].revents || fds[1].revents ||
		    (!r->o.command && targets_have_ended(r->o.targets)))
			break;
	}
	if (live)
		summary_live_end();
}

/* Ticks until the recording has reached that state. */
static void advance(struct record *r, enum recording_state state)
{
	while (recording_state(r->recording) < state) {
		poll(NULL, 0, node_tick_ms(r->node));
		node_tick(r->node);
	}
}

static int start_recording(struct record *r)
{
	const struct node_options node = {
		.workers = take(r->o.workers),
		.agent = r->o.agent,
		.agent_path = r->o.agent_path,
		.lines = r->o.lines,
		.measure = r->o.measure,
		.keeps_output_rights = output_needs_rights(r->o.output, r->o.force),
	};
	const struct recording_options options = {
		.events = &r->o.events,
		.sampling = r->o.sampling,
		.targets = r->o.targets,
		.ring_bytes = (size_t)r->o.ring_kb << 10,
		.agent = r->o.agent,
		.duration_ns = duration_ns(r),
		.measure = r->o.measure,
	};
	const struct sink_options sink = {
		.levels = r->o.levels,
		.thread = r->o.thread ? &r->o.thread_regex : NULL,
		.slot_ns = r->o.timeline ? TIMELINE_SLOT_NS : 0,
	};

	r->node = node_new(&node);
	r->recording = recording_new(r->node, &options);
	r->sink = recording_add_sink(r->recording, &sink);
	int err = node_start(r->node) ?: recording_start(r->recording);
	if (err)
		return err;
	advance(r, RECORDING_RUNS);
	return recording_error(r->recording);
}

static int start(struct record *r)
{
	r->signal_fd = open_signals();
	if (r->o.command) {
		int err = child_hold(r->o.command, &r->child);
		if (err) {
			log_error("cannot start %s: %s", r->o.command[0], strerror(-err));
			return err;
		}
		targets_add_command(r->o.targets, r->child.pid, r->o.command);
	}
	descriptors_raise((u32)r->o.events.list.nr); /* the command keeps its own limit */
	int err = start_recording(r);
	if (err || !r->o.command)
		return err;
	err = child_release(&r->child);
	if (err)
		log_error("cannot run %s: %s", r->o.command[0], strerror(-err));
	return err;
}

/* Writes to the output, or where else there is room. *path is another name than the output's. */
static int write_out(const struct record *r, const struct profile *p, char **path, u64 *size_bytes)
{
	const struct record_options *o = &r->o;
	int err = o->has_no_output
			  ? profile_file_write_new(p, o->output, o->format, path, size_bytes)
			  : profile_file_write(p, o->output, o->format, o->force, size_bytes);

	if (err && err != -EOVERFLOW)
		profile_file_rescue(p, o->output, o->format, path, size_bytes);
	return err;
}

/* Writes the profile and prints the summary; returns the exit status. */
static int finish(struct record *r)
{
	const struct recorded recorded = { r->node, r->recording, r->cut };
	struct profile *p = r->cut->profile;
	auto_free char *path = NULL;
	u64 size_bytes = 0;
	int err;

	if (no_samples_is(&recorded, &r->o)) {
		no_samples_say(&recorded, &r->o);
		return EXIT_FAILED;
	}
	profile_name_frames(p, r->o.raw_names ? NAMES_RAW : NAMES_SHOWN);
	err = transforming_apply(&r->o.transforms, r->o.format, p);
	if (!err)
		err = write_out(r, p, &path, &size_bytes);
	if (err && !path)
		return EXIT_FAILED;
	if (!r->o.quiet && r->o.has_no_output)
		summary_top(&recorded);
	if (!r->o.quiet)
		summary_print(&recorded, path ?: r->o.output, size_bytes);
	return err || (r->o.agent == AGENT_ALWAYS && summary_refused(&recorded)) ? EXIT_FAILED : 0;
}

/* Returns the exit status. */
static int record(struct record *r)
{
	if (check_place() || try_output(r) || check_pids(r) || start(r))
		return EXIT_FAILED;
	run(r);
	let_signals_kill(r);
	recording_stop(r->recording);
	advance(r, RECORDING_DONE);
	r->cut = recording_take_cut(r->recording, r->sink);
	int status = finish(r);
	if (!r->o.command)
		return status;
	/* The recording may have ended before the command, by -d or a signal. */
	int child_status = child_wait(&r->child);
	return child_status < 0 ? EXIT_FAILED : child_status ?: status;
}

int record_main(int argc, char **argv)
{
	struct record r = { .o = record_options_default(), .signal_fd = -1 };

	int done = record_options_parse(&r.o, argc, argv);
	int status = done < 0 ? EXIT_USAGE : done > 0 ? 0 : record(&r);

	cut_free(r.cut);
	recording_free(r.recording);
	node_free(r.node);
	child_fini(&r.child);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	record_options_fini(&r.o);
	return status;
}
