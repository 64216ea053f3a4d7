/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysflame record: profiles the node, some processes or a command, and writes the profile.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "base/types.h"
#include "capture/features.h"
#include "capture/kernel/privilege.h"
#include "capture/node.h"
#include "capture/recording.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "cmd/record/page_opener.h"
#include "cmd/record/part_files.h"
#include "cmd/record/record_options.h"
#include "cmd/record/summary.h"
#include "cmd/stack_options.h"
#include "profile/names.h"

/* A command that is profiled from its first instruction: started, held, released. */
struct child {
	pid_t pid;
	int pidfd;      /* readable when the child has ended */
	int release_fd; /* closing it without a byte ends the child; 0 once released */
};

/* In the child: waits for its release, then executes the command or reports the error. */
static void run_child(int fd, char **argv)
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

/* Forks a child that waits before it executes argv (NULL-terminated). */
static int child_hold(char **argv, struct child *out)
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
		run_child(fds[1], argv);
	}
	close(fds[1]);
	*out = (struct child){
		.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.release_fd = fds[0],
	};
	return 0;
}

/* Lets the child execute the command; a negative errno if that fails. */
static int child_release(struct child *c)
{
	int err = 0;

	/* exec closes the other end; if exec fails, the reason arrives. */
	if (write(c->release_fd, "", 1) != 1 || read(c->release_fd, &err, sizeof(err)) < 0)
		err = errno;
	close(c->release_fd);
	c->release_fd = 0;
	return -err;
}

/* Ends a child that was never released, and closes its descriptors. */
static void child_fini(struct child *c)
{
	if (c->release_fd > 0) {
		close(c->release_fd);
		waitpid(c->pid, NULL, 0);
	}
	if (c->pidfd > 0)
		close(c->pidfd);
	*c = (struct child){ 0 };
}

/* Waits for the child's end. Returns its exit status as a shell does: 128 + N for signal N. */
static int child_wait(struct child *c)
{
	int status;

	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	c->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#define TIMELINE_SLOT_NS (10 * NS_PER_MS)
#define LIVE_EVERY_NS    (200 * NS_PER_MS)

struct record {
	struct record_options o;
	struct child child;
	struct node *node;
	struct recording *recording;
	struct sink *sink;
	struct cut *cut;           /* all of the recording */
	struct page_opener opener; /* --open */
	struct part_files parts;   /* --loop */
	u32 nr_parts, nr_failed;
	u64 next_part_ns; /* since the window's begin */
	int signal_fd;
};

/* The process that --loop names, 0 if there are several. */
static pid_t one_pid(const struct record *r)
{
	const struct targets *t = r->o.targets;

	return r->o.command ? r->child.pid : targets_pid(t, 1) ? 0 : targets_pid(t, 0);
}

/* The name of a file of --loop; without --loop that of the only file. The caller frees it. */
static char *output_name(const struct record *r, u64 wall_ns, u32 number)
{
	struct str name = { 0 };
	auto_str struct str why = { 0 };

	if (!r->o.loop || part_name(r->o.output, wall_ns, number, one_pid(r) ?: 1, &name, &why)) {
		str_clear(&name);
		str_add(&name, r->o.output);
	}
	return str_take(&name);
}

/* Checks before the recording that the output can be written. */
static int try_output(const struct record *r)
{
	struct outfile *out = NULL;
	auto_free char *name = output_name(r, time_wall_ns(), 1);
	int err = r->o.has_no_output || r->o.loop ? outfile_open_new(name, &out)
						  : outfile_try(name, r->o.force);

	outfile_abort(out);
	if (err)
		log_error("cannot write %s: %s", name, outfile_why(err));
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
	sigaddset(&set, SIGHUP); /* the terminal or the connection to it is gone */
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The first signal ends the recording, a second one the program. */
static void let_signals_kill(const struct record *r)
{
	struct signalfd_siginfo first;
	sigset_t none;

	/* Read the first signal: it would stay pending and kill the program. */
	if (read(r->signal_fd, &first, sizeof(first)) < 0)
		log_debug("the recording ended without a signal");
	/*
	 * Ignore further SIGHUPs: a lost terminal sends several, and none of them means to drop the
	 * profile.
	 */
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static u64 duration_ns(const struct record *r)
{
	return (u64)(r->o.duration_s * 1e9);
}

#define SYMBOLS_WAIT_NS (5 * NS_PER_SEC)

/* Asks debuginfod servers for the symbols of files that have functions without a name. */
static void want_symbols(struct record *r)
{
	struct late_symbols *l = &r->o.late;
	const char *build_id;

	if (!l->debuginfod)
		return;
	while ((build_id = node_unnamed_build(r->node, l->nr_wanted))) {
		late_symbols_want(l, build_id);
		l->nr_wanted++;
	}
	debuginfod_step(l->debuginfod);
}

/* Names and changes the stacks as the options say. */
static int change(struct record *r, struct profile *p)
{
	r->o.late.quiet = r->o.quiet;
	if (late_symbols_are_asked(&r->o.late))
		late_symbols_give(&r->o.late, p, node_workers(r->node),
				  r->o.loop ? 0 : SYMBOLS_WAIT_NS);
	profile_name_frames(p, r->o.raw_names ? NAMES_RAW : NAMES_SHOWN);
	stack_options_filter(&r->o.stacks, p);
	int err = transforming_apply(&r->o.transforms, r->o.format, p);
	if (!err)
		stack_options_turn(&r->o.stacks, r->o.format, p);
	return err;
}

/*
 * Writes the only file; if that fails, under another name or in another folder. *path is set if the
 * name differs from the requested one.
 */
static int write_out(const struct record *r, const struct profile *p, char **path, u64 *size_bytes)
{
	const struct record_options *o = &r->o;
	const char *name = o->output;
	int err = o->has_no_output ? profile_file_write_new(p, name, o->format, path, size_bytes)
				   : profile_file_write(p, name, o->format, o->force, size_bytes);

	if (err == -E2BIG) /* a page holds any number of samples */
		profile_file_rescue(p, "flame.html", format_by_name("html"), path, size_bytes);
	else if (err && err != -EOVERFLOW)
		profile_file_rescue(p, name, o->format, path, size_bytes);
	return err;
}

/*
 * Writes a file of --loop. A part without samples has one, too: the series has no gaps. A part that
 * cannot be written is lost: parts in other folders would fill them, one after the other.
 */
static void write_part(struct record *r, const struct cut *c)
{
	auto_free char *name = output_name(r, c->profile->start_wall_ns, ++r->nr_parts);
	auto_free char *path = NULL;
	u64 size_bytes = 0;
	int err = change(r, c->profile)
			  ?: profile_file_write_new(c->profile, name, r->o.format, &path,
						    &size_bytes);

	if (err) {
		r->nr_failed++;
		log_error("part %u of the series is lost", r->nr_parts);
		return;
	}
	part_files_add(&r->parts, path, r->o.keep > 0 ? (size_t)r->o.keep : 0);
	if (!r->o.quiet)
		summary_part(c, path, size_bytes);
}

/* Writes the parts of --loop whose samples have all arrived. */
static void write_parts(struct record *r)
{
	struct cut *c;

	while (r->o.loop && (c = recording_take_cut(r->recording, r->sink))) {
		cut_free(r->cut);
		r->cut = c;
		write_part(r, c);
	}
}

/* Ends a part of --loop if it is time, without delay of the samples of the next one. */
static void cut_in_time(struct record *r, u64 limit_ns)
{
	u64 elapsed_ns = recording_elapsed_ns(r->recording);

	if (!r->o.loop || elapsed_ns < r->next_part_ns ||
	    (limit_ns && r->next_part_ns >= limit_ns) || recording_cut(r->recording, r->sink))
		return;
	while (r->next_part_ns <= elapsed_ns)
		r->next_part_ns += r->o.loop_ns;
}

/* How long to wait: until the next event that run() expects. */
static int wait_ms(const struct record *r, u64 elapsed_ns, u64 limit_ns)
{
	int timeout_ms = node_tick_ms(r->node);
	u64 ends_ns[] = { limit_ns, r->o.loop ? r->next_part_ns : 0 };

	for (size_t i = 0; i < ARRAY_SIZE(ends_ns); i++)
		if (ends_ns[i] > elapsed_ns &&
		    (ends_ns[i] - elapsed_ns) / NS_PER_MS < (u64)timeout_ms)
			timeout_ms = (int)((ends_ns[i] - elapsed_ns) / NS_PER_MS) + 1;
	return timeout_ms;
}

/* Records until the time is over, a signal arrives, or the profiled command has ended. */
static void run(struct record *r)
{
	u64 limit_ns = duration_ns(r), shown_ns = 0;

	r->next_part_ns = r->o.loop_ns;
	bool live = !r->o.quiet && isatty(STDERR_FILENO);

	log_debug("recording");
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = r->signal_fd, .events = POLLIN },
			{ .fd = r->o.command ? r->child.pidfd : -1, .events = POLLIN },
			{ .fd = node_fd(r->node), .events = POLLIN },
		};
		u64 elapsed_ns = recording_elapsed_ns(r->recording);
		if (limit_ns && elapsed_ns >= limit_ns)
			break;
		poll(fds, ARRAY_SIZE(fds), wait_ms(r, elapsed_ns, limit_ns));
		if (fds[2].revents)
			node_woken(r->node);
		node_tick(r->node);
		want_symbols(r);
		cut_in_time(r, limit_ns);
		write_parts(r);
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

/* Ticks until the recording has reached `state`. */
static void advance(struct record *r, enum recording_state state)
{
	for (node_tick(r->node); recording_state(r->recording) < state; node_tick(r->node))
		poll(NULL, 0, node_tick_ms(r->node));
}

static int start_recording(struct record *r)
{
	auto_free char *name = output_name(r, time_wall_ns(), 1);
	const struct node_options node = {
		.workers = take(r->o.workers),
		.agent = r->o.agent,
		.agent_path = r->o.agent_path,
		.labels = r->o.labels,
		.nr_labels = r->o.nr_labels,
		.lines = r->o.lines,
		.signatures = r->o.signatures,
		.addresses = r->o.raw_names || late_symbols_are_asked(&r->o.late),
		.measure = r->o.measure,
		.times_programs = events_may_be_declined(&r->o.events),
		.keeps_output_rights = output_needs_rights(name, r->o.force),
	};
	const struct recording_options options = {
		.events = &r->o.events,
		.sampling = r->o.sampling,
		.targets = r->o.targets,
		.ring_bytes = r->o.ring_bytes,
		.agent = r->o.agent,
		.duration_ns = duration_ns(r),
		.measure = r->o.measure,
	};
	const struct sink_options sink = {
		.levels = r->o.levels,
		.thread = r->o.thread ? &r->o.thread_regex : NULL,
		.requests = r->o.traces ? REQUEST_TRACES : REQUEST_ATTRIBUTES,
		.slot_ns = r->o.timeline || r->o.format->has_times ? TIMELINE_SLOT_NS : 0,
	};

	r->node = node_new(&node);
	r->recording = recording_new(r->node, &options);
	r->sink = recording_add_sink(r->recording, &sink);
	int err = node_load(r->node) ?: recording_load(r->recording) ?: node_start(r->node)
			  ?: recording_start(r->recording);
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

/* Opens the page, unless it had to be written elsewhere. A failure is a warning: the page exists.
 */
static void open_page(struct record *r, const char *path, int written_err)
{
	auto_str struct str why = { 0 };

	if (written_err)
		str_addf(&why, "it is in another folder than wanted");
	else if (!page_opener_open(&r->opener, path, &why))
		return;
	log_warn("--open: the page is not opened: %s; open %s in a browser", why.at, path);
}

/* Writes the profile and prints the summary; returns the exit status. */
static int finish(struct record *r)
{
	const struct recorded recorded = { r->node, r->recording, r->cut, r->o.format,
					   r->o.late.debuginfod != NULL };
	struct profile *p = r->cut->profile;
	auto_free char *path = NULL;
	u64 size_bytes = 0;
	int err;

	if (no_samples_is(&recorded, &r->o)) {
		no_samples_say(&recorded, &r->o);
		return EXIT_FAILED;
	}
	err = change(r, p);
	if (!err)
		err = write_out(r, p, &path, &size_bytes);
	if (err && !path)
		return EXIT_FAILED;
	if (!r->o.quiet && r->o.has_no_output)
		summary_top(&recorded);
	if (!r->o.quiet)
		summary_print(&recorded, path ?: r->o.output, size_bytes);
	if (r->o.open)
		open_page(r, path ?: r->o.output, err);
	return err || (r->o.agent == AGENT_ALWAYS && summary_refused(&recorded)) ? EXIT_FAILED : 0;
}

/* Starts the page opener. Call it before the recorder gives up the right to execute programs. */
static int start_opener(struct record *r)
{
	int err = r->o.open ? page_opener_start(r->o.output, &r->opener) : 0;

	if (err)
		log_error("--open: the process that opens the page cannot start: %s",
			  strerror(-err));
	return err;
}

/* The last file of --loop; returns the exit status. */
static int finish_parts(struct record *r)
{
	const struct recorded recorded = { r->node, r->recording, r->cut, r->o.format,
					   r->o.late.debuginfod != NULL };

	write_parts(r);
	return r->nr_failed || (r->o.agent == AGENT_ALWAYS && summary_refused(&recorded))
		       ? EXIT_FAILED
		       : 0;
}

/* Returns the exit status. */
static int record(struct record *r)
{
	if (check_place() || try_output(r) || check_pids(r) || start_opener(r) ||
	    late_symbols_start(&r->o.late) || start(r))
		return EXIT_FAILED;
	run(r);
	let_signals_kill(r);
	recording_stop(r->recording);
	advance(r, RECORDING_DONE);
	node_warn_of_labels(r->node);
	if (!r->o.loop)
		r->cut = recording_take_cut(r->recording, r->sink);
	int status = r->o.loop ? finish_parts(r) : finish(r);
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
	page_opener_fini(&r.opener);
	part_files_fini(&r.parts);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	record_options_fini(&r.o);
	return status;
}
