/* SPDX-License-Identifier: Apache-2.0 */
/* sysflame record: profiles the node, some processes or a command, and writes the profile. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/time.h"
#include "capture/session.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "cmd/summary.h"
#include "cmd/transforming.h"
#include "export/export.h"
#include "profile/names.h"

#define RING_MAX_KB            (64 << 10)
#define DURATION_MAX_S         (7 * 24 * 3600)
#define OFFCPU_MIN_MAX_MS      4000
#define NATIVEMEM_INTERVAL_MIN 1024
#define ALLOC_INTERVAL_MIN     (4u << 10)
#define ALLOC_INTERVAL_MAX     (128u << 20)

/* HotSpot's functions between which its threads are brought to a safepoint; JDK 11 to 28. */
#define TTSP_BEGIN "SafepointSynchronize::begin"
#define TTSP_END   "RuntimeService::record_safepoint_synchronized"

struct record {
	/* Options. */
	bool all, quiet, verbose, raw_names, help, measure, has_no_output;
	const char *event_list, *output, *format_name, *agent_name, *agent_path, *by;
	const char *alloc_interval;
	int freq_hz, period, ring_kb;
	int nativemem_interval;
	double duration_s, offcpu_min_ms, leak_age_s;
	struct opt_list selected[NR_TARGET_KINDS], excluded, transform_words;
	bool jvms, ttsp;
	const char *begin, *end, *wait_for;
	/* What they mean. */
	struct targets *targets;
	struct events events;
	struct event_options sampling;
	const struct format *format;
	enum agent_mode agent;
	struct transforms transforms;
	char **command; /* NULL-terminated, NULL if none */
	/* The recording. */
	struct child child;
	struct session *session;
	int signal_fd;
};

#define usage_error(...) (log_error(__VA_ARGS__), -EINVAL)

static const char *const target_options[NR_TARGET_KINDS] = {
	[TARGET_PID] = "-p",     [TARGET_COMM] = "--comm",     [TARGET_USER] = "--user",
	[TARGET_JVM] = "--jvms", [TARGET_CGROUP] = "--cgroup",
};

static int choose_targets(struct record *r)
{
	auto_str struct str why = { 0 };

	r->targets = targets_new();
	if (r->jvms)
		targets_add(r->targets, TARGET_JVM, false, "", &why);
	for (enum target_kind kind = 0; kind < NR_TARGET_KINDS; kind++)
		vec_each(text, &r->selected[kind])
			if (targets_add(r->targets, kind, false, *text, &why))
				return usage_error("%s %s: %s", target_options[kind], *text,
						   why.at);
	if (r->all && (targets_select(r->targets) || r->command))
		return usage_error("-a profiles everything: leave out %s",
				   r->command ? "the command" : targets_text(r->targets));
	if (r->wait_for && (targets_select(r->targets) || r->all || r->command))
		return usage_error("--wait-for %s: it selects the process; leave out %s",
				   r->wait_for,
				   r->command ? "the command"
				   : r->all   ? "-a"
					      : targets_text(r->targets));
	if (r->wait_for && targets_wait_for(r->targets, r->wait_for, &why))
		return usage_error("--wait-for %s: %s", r->wait_for, why.at);
	vec_each(text, &r->excluded)
		if (targets_exclude(r->targets, *text, &why))
			return usage_error("--exclude %s: %s", *text, why.at);
	return 0;
}

static int choose_format(struct record *r)
{
	r->has_no_output = !r->output;
	if (!r->output)
		r->output = "flame.html";
	r->format = r->format_name ? format_by_name(r->format_name) : format_by_path(r->output);
	if (r->format)
		return 0;
	if (r->format_name)
		return usage_error("--format %s: not known; report --help lists the formats",
				   r->format_name);
	return usage_error("-o %s: the name does not tell the format; end it in .html or .txt, or "
			   "name one by --format",
			   r->output);
}

static int choose_agent(struct record *r)
{
	static const char *const names[] = {
		[AGENT_AUTO] = "auto",
		[AGENT_ALWAYS] = "always",
		[AGENT_NEVER] = "never",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(r->agent_name, names[i])) {
			r->agent = (enum agent_mode)i;
			return 0;
		}
	return usage_error("--agent %s: takes auto, always or never", r->agent_name);
}

/* "524288", "512k" or "1m". */
static int choose_alloc_interval(struct record *r)
{
	const char *text = r->alloc_interval;
	char *end;
	u64 bytes = strtoull(text, &end, 10);
	unsigned shift = *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : 0;

	if (text[0] < '0' || text[0] > '9' || end[shift > 0] || bytes > ALLOC_INTERVAL_MAX)
		return usage_error("--alloc-interval %s: takes bytes, as in 524288, 512k or 1m",
				   text);
	bytes <<= shift;
	if (bytes < ALLOC_INTERVAL_MIN || bytes > ALLOC_INTERVAL_MAX)
		return usage_error("--alloc-interval %s: takes %uk to %um; less would stall the "
				   "program, as every object is told of",
				   text, ALLOC_INTERVAL_MIN >> 10, ALLOC_INTERVAL_MAX >> 20);
	r->sampling.alloc_interval = bytes;
	return 0;
}

static int choose_events(struct record *r)
{
	auto_str struct str why = { 0 };

	if (r->period < 0)
		return usage_error("--period %d: takes a number from 1 on", r->period);
	if (r->offcpu_min_ms < 1e-6 || r->offcpu_min_ms > OFFCPU_MIN_MAX_MS)
		return usage_error("--offcpu-min %g: takes milliseconds, up to %d",
				   r->offcpu_min_ms, OFFCPU_MIN_MAX_MS);
	if (r->nativemem_interval < NATIVEMEM_INTERVAL_MIN)
		return usage_error("--nativemem-interval %d: takes %d bytes or more, for a sample "
				   "costs more than small allocations do",
				   r->nativemem_interval, NATIVEMEM_INTERVAL_MIN);
	if (r->ttsp && (r->begin || r->end))
		return usage_error("--ttsp has its own --begin and --end");
	if (r->leak_age_s > DURATION_MAX_S)
		return usage_error("--leaks %g: takes seconds, up to a week", r->leak_age_s);
	r->sampling = (struct event_options){
		.nativemem_interval = (u64)r->nativemem_interval,
		.leaks = r->leak_age_s >= 0,
		.leak_age_ns = r->leak_age_s > 0 ? (u64)(r->leak_age_s * NS_PER_SEC) : 0,
		.begin = r->ttsp ? TTSP_BEGIN : r->begin,
		.end = r->ttsp ? TTSP_END : r->end,
		.freq_hz = r->freq_hz,
		.period = (u64)r->period,
		.offcpu_min_ns = (u64)(r->offcpu_min_ms * NS_PER_MS),
		.agent_path = r->agent_path,
	};
	if (choose_alloc_interval(r))
		return -EINVAL;
	int err = events_parse(r->event_list, &r->sampling, &r->events, &why);
	if (err)
		log_error("%s", why.at);
	else if (r->events.list.nr > 1 && !strcmp(r->format->name, "collapsed"))
		log_warn("%s will hold %s only: that format has one value; html has them all",
			 r->output, r->events.list.at[0].name);
	return err;
}

static int check(struct record *r)
{
	if (r->freq_hz < 1 || r->freq_hz > EVENTS_FREQ_MAX_HZ)
		return usage_error("-F %d: takes 1 to %d samples per second", r->freq_hz,
				   EVENTS_FREQ_MAX_HZ);
	if (r->duration_s < 0 || r->duration_s > DURATION_MAX_S)
		return usage_error("-d %g: takes seconds, up to a week", r->duration_s);
	if (r->ring_kb < 0 || r->ring_kb > RING_MAX_KB)
		return usage_error("--ring %d: takes 1 to %d KB", r->ring_kb, RING_MAX_KB);
	if (strcmp(r->by, "process") && strcmp(r->by, "none"))
		return usage_error("--by %s: takes process or none", r->by);
	if (r->selected[TARGET_PID].nr && r->command)
		return usage_error("-p and a command exclude each other");
	return choose_targets(r) ?: choose_format(r) ?: choose_agent(r) ?: choose_events(r) ?:
	       transforming_parse(&r->transform_words, &r->transforms);
}

static void help(const struct opt *opts, size_t nr)
{
	puts("usage: sysflame record [OPTION..] [-- COMMAND ARG..]\n\n"
	     "Samples every CPU and writes a flame graph; without -d until Ctrl-C or until the\n"
	     "command ends. Without -o it writes flame.html and prints the hottest methods.\n");
	opt_help(opts, nr);
}

/* Returns 1 if all is done (--help), 0 to go on, or a negative errno. */
static int parse(struct record *r, int argc, char **argv)
{
	const struct opt opts[] = {
		{ 'a', "all", OPT_BOOL, &r->all, NULL, "the whole node (the default)" },
		{ 'p', "pid", OPT_LIST, &r->selected[TARGET_PID], "PID,..",
		  "only these and their children" },
		{ 0, "comm", OPT_LIST, &r->selected[TARGET_COMM], "NAME,..",
		  "only processes of these names" },
		{ 0, "user", OPT_LIST, &r->selected[TARGET_USER], "USER,..",
		  "only processes of these users" },
		{ 0, "jvms", OPT_BOOL, &r->jvms, NULL, "only JVMs" },
		{ 0, "cgroup", OPT_LIST, &r->selected[TARGET_CGROUP], "PATH",
		  "only what is in this control group or below" },
		{ 0, "exclude", OPT_LIST, &r->excluded, "KIND=VALUE",
		  "not pid=, comm=, user=, cgroup=.. or jvms; may be repeated" },
		{ 'e', "event", OPT_STRING, &r->event_list, "EVENT,..",
		  "what to sample: cpu, offcpu, wall, ..; sysflame events lists them" },
		{ 'F', "freq", OPT_INT, &r->freq_hz, "HZ", "samples per second and CPU (99)" },
		{ 0, "period", OPT_INT, &r->period, "N", "instead of -F: a sample every N events" },
		{ 0, "offcpu-min", OPT_DOUBLE, &r->offcpu_min_ms, "MS",
		  "shorter waits are sampled, the others recorded (1)" },
		{ 0, "nativemem-interval", OPT_INT, &r->nativemem_interval, "BYTES",
		  "of nativemem: a sample every so many (524288)" },
		{ 0, "leaks", OPT_DOUBLE, &r->leak_age_s, "SEC",
		  "of nativemem: only what is older at the end and was not freed" },
		{ 0, "alloc-interval", OPT_STRING, &r->alloc_interval, "BYTES",
		  "one allocation in so many is sampled (512k)" },
		{ 0, "wait-for", OPT_STRING, &r->wait_for, "PROGRAM",
		  "record what begins under that name, from its first instruction" },
		{ 0, "begin", OPT_STRING, &r->begin, "FUNCTION",
		  "a process's samples only from when it gets there" },
		{ 0, "end", OPT_STRING, &r->end, "FUNCTION", "up to when it gets there" },
		{ 0, "ttsp", OPT_BOOL, &r->ttsp, NULL,
		  "only while a JVM waits for its threads to reach a safepoint" },
		{ 'd', "duration", OPT_DOUBLE, &r->duration_s, "SEC",
		  "stop after so many seconds" },
		{ 'o', "output", OPT_STRING, &r->output, "FILE",
		  "flame.html; - is standard output" },
		{ 0, "format", OPT_STRING, &r->format_name, "F", "html, svg, ... (by the name)" },
		{ 0, "by", OPT_STRING, &r->by, "LEVEL", "under the root: process (default), none" },
		RAW_NAMES_OPT(&r->raw_names),
		TRANSFORM_OPT(&r->transform_words),
		{ 0, "agent", OPT_STRING, &r->agent_name, "WHEN",
		  "name Java by an agent: auto, always, never" },
		{ 0, "agent-path", OPT_STRING, &r->agent_path, "FILE", "where libjvmmap.so is" },
		{ 0, "ring", OPT_INT, &r->ring_kb, "KB", "size of the ring buffer (by the CPUs)" },
		{ 0, "measure", OPT_BOOL, &r->measure, NULL, "tell what sampling itself costs" },
		{ 'q', "quiet", OPT_BOOL, &r->quiet, NULL, "no live line, no summary" },
		{ 'v', "verbose", OPT_BOOL, &r->verbose, NULL, "tell more of what is going on" },
		{ 'h', "help", OPT_BOOL, &r->help, NULL, "this text" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);
	if (next < 0)
		return next;
	if (r->help) {
		help(opts, ARRAY_SIZE(opts));
		return 1;
	}
	if (next < argc && strcmp(argv[next - 1], "--"))
		return usage_error("%s: unexpected; a command to profile follows --", argv[next]);
	r->command = next < argc ? argv + next : NULL;
	log_set_level(r->verbose ? LOG_DEBUG : r->quiet ? LOG_ERROR : LOG_INFO);
	return check(r);
}

/* Finds out before the recording whether its result can be written. */
static int try_output(const struct record *r)
{
	struct outfile *out;

	if (!strcmp(r->output, "-"))
		return 0;
	int err = outfile_open(r->output, &out);
	if (err) {
		log_error("cannot write %s: %s", r->output, strerror(-err));
		return err;
	}
	outfile_abort(out);
	return 0;
}

static int check_pids(const struct record *r)
{
	pid_t pid = targets_missing_pid(r->targets);

	if (pid)
		log_error("there is no process %d", (int)pid);
	return pid ? -ESRCH : 0;
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
	u64 start_ns = time_mono_ns(), limit_ns = (u64)(r->duration_s * 1e9);
	bool live = !r->quiet && isatty(STDERR_FILENO);

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = r->signal_fd, .events = POLLIN },
			{ .fd = r->command ? r->child.pidfd : -1, .events = POLLIN },
			{ .fd = session_fd(r->session), .events = POLLIN },
		};
		if (targets_are_waited_for(r->targets))
			start_ns = time_mono_ns();
		u64 elapsed_ns = time_mono_ns() - start_ns;
		int timeout_ms = SESSION_TICK_MS;
		if (limit_ns && elapsed_ns >= limit_ns)
			break;
		if (limit_ns && (limit_ns - elapsed_ns) / NS_PER_MS < SESSION_TICK_MS)
			timeout_ms = (int)((limit_ns - elapsed_ns) / NS_PER_MS) + 1;
		poll(fds, ARRAY_SIZE(fds), timeout_ms);
		if (fds[2].revents)
			usleep(SESSION_PAUSE_MS * 1000);
		session_tick(r->session);
		if (live)
			summary_live(r->session, elapsed_ns);
		if (fds[0].revents || fds[1].revents ||
		    (!r->command && targets_have_ended(r->targets)))
			break;
	}
	if (live)
		summary_live_end();
}

static int start(struct record *r)
{
	struct session_options options = {
		.events = &r->events,
		.sampling = r->sampling,
		.targets = r->targets,
		.ring_bytes = (size_t)r->ring_kb << 10,
		.by_process = !strcmp(r->by, "process"),
		.agent = r->agent,
		.agent_path = r->agent_path,
		.measure = r->measure,
	};

	r->signal_fd = open_signals();
	if (r->command) {
		int err = child_hold(r->command, &r->child);
		if (err) {
			log_error("cannot start %s: %s", r->command[0], strerror(-err));
			return err;
		}
		targets_add_pid(r->targets, r->child.pid);
	}
	int err = session_start(&options, &r->session);
	if (err || !r->command)
		return err;
	err = child_release(&r->child);
	if (err)
		log_error("cannot run %s: %s", r->command[0], strerror(-err));
	return err;
}

/* Returns the exit status. */
static int record(struct record *r)
{
	u64 size_bytes = 0;

	if (try_output(r) || check_pids(r) || start(r))
		return EXIT_FAILED;
	run(r);
	let_signals_kill(r);
	session_stop(r->session);
	profile_name_frames(session_profile(r->session), r->raw_names ? NAMES_RAW : NAMES_SHOWN);
	if (transforming_apply(&r->transforms, r->format, session_profile(r->session)) ||
	    profile_file_write(session_profile(r->session), r->output, r->format, &size_bytes))
		return EXIT_FAILED;
	if (!r->quiet && r->has_no_output)
		summary_top(r->session);
	if (!r->quiet)
		summary_print(r->session, r->output, size_bytes);
	if (r->agent == AGENT_ALWAYS && summary_refused(r->session))
		return EXIT_FAILED;
	if (!r->command)
		return 0;
	/* The profile may have ended first, by -d or a signal. */
	int status = child_wait(&r->child);
	return status < 0 ? EXIT_FAILED : status;
}

int record_main(int argc, char **argv)
{
	struct record r = {
		.event_list = "cpu",
		.offcpu_min_ms = 1,
		.nativemem_interval = 512 << 10,
		.leak_age_s = -1,
		.alloc_interval = "512k",
		.by = "process",
		.agent_name = "auto",
		.freq_hz = 99,
		.signal_fd = -1,
	};
	int done = parse(&r, argc, argv);
	int status = done < 0 ? EXIT_USAGE : done > 0 ? 0 : record(&r);

	session_free(r.session);
	child_fini(&r.child);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	targets_free(r.targets);
	for (size_t i = 0; i < NR_TARGET_KINDS; i++)
		vec_fini(&r.selected[i]);
	vec_fini(&r.excluded);
	vec_fini(&r.transform_words);
	transforms_fini(&r.transforms);
	events_fini(&r.events);
	return status;
}
