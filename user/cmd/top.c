/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame top`: what the JVMs of this node are doing now. */
#include "cmd/top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/output_rights.h"
#include "cmd/serve.h"
#include "cmd/terminal.h"
#include "cmd/top_live.h"
#include "cmd/top_print.h"
#include "daemon/home.h"
#include "proc/status.h"

#define INTERVAL_MIN_S 0.1
#define INTERVAL_MAX_S 3600
#define METHODS_MAX    1000
#define SETTLE_NS      (3 * NS_PER_SEC) /* a sample waits that long for a file's names */
#define SETTLE_STEP_NS (20 * NS_PER_MS)

struct options {
	double interval_s;
	int nr_readings, nr_methods;
	bool is_batch, is_once, is_json, uses_daemon, help;
	const char *dir;
	const char *sort, *filter;
	struct opt_list pid_texts;
	VEC(pid_t) pids;
	enum board_key key;
};

/* SIGINT and its like end the program through the loop, which restores the terminal. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Ticks until `until_ns`; returns whether a signal ends the program before. */
static bool wait(struct watch *w, int signal_fd, u64 until_ns)
{
	for (u64 now_ns; (now_ns = time_mono_ns()) < until_ns;) {
		struct pollfd fds[] = { { .fd = signal_fd, .events = POLLIN },
					{ .fd = watch_fd(w), .events = POLLIN } };
		int left_ms = (int)((until_ns - now_ns) / NS_PER_MS) + 1;
		int tick_ms = watch_tick_ms(w);

		poll(fds, ARRAY_SIZE(fds), tick_ms >= 0 && tick_ms < left_ms ? tick_ms : left_ms);
		if (fds[0].revents)
			return true;
		if (fds[1].revents)
			watch_woken(w);
		watch_tick(w);
	}
	return false;
}

/* Waits for the names of the last samples. */
static void settle(struct watch *w, int signal_fd)
{
	u64 limit_ns = time_mono_ns() + SETTLE_NS;

	while (watch_is_behind(w) && time_mono_ns() < limit_ns)
		if (wait(w, signal_fd, time_mono_ns() + SETTLE_STEP_NS))
			return;
}

static void print(const struct watch *w, struct board *b, const struct options *o)
{
	char host[65] = "?", clock[16];
	time_t now = time(NULL);
	struct tm local;

	if (gethostname(host, sizeof(host) - 1))
		copy_text(host, sizeof(host), "?");
	localtime_r(&now, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	const struct view_choice c = { .key = o->key,
				       .filter = o->filter,
				       .host = host,
				       .time = clock,
				       .no_methods = watch_no_methods(w),
				       .has_pids = o->pids.nr > 0 };
	board_sort(b, o->key);
	if (o->is_json)
		top_print_json(w, b, &c, (size_t)o->nr_methods);
	else
		top_print_text(w, b, &c, (size_t)o->nr_methods, terminal_width(STDOUT_FILENO));
	fflush(stdout);
}

/* Returns the exit status. */
static int batch(struct watch *w, int signal_fd, const struct options *o)
{
	u64 interval_ns = (u64)(o->interval_s * 1e9), next_ns = time_mono_ns();
	struct board board = { 0 };
	int err = watch_read(w, &board), nr = 0;

	while ((!err || err == -EAGAIN) && (!o->nr_readings || nr < o->nr_readings)) {
		next_ns += interval_ns;
		if (wait(w, signal_fd, next_ns))
			break;
		err = watch_read(w, &board);
		if (err) /* -EAGAIN: the daemon's recorder is started again */
			continue;
		nr++;
		settle(w, signal_fd);
		print(w, &board, o);
		if (ferror(stdout) || file_has_no_reader(STDOUT_FILENO))
			break;
	}
	bool is_none = o->is_once && o->pids.nr && !board.rows.nr;
	board_fini(&board);
	if (is_none && o->is_json)
		log_error("none of the processes of -p is a JVM that can be seen");
	if (!err || err == -EAGAIN)
		return output_finish() ?: is_none ? EXIT_FAILED : 0;
	log_error("the load cannot be read: %s", watch_why(w));
	return EXIT_FAILED;
}

static int parse_pids(struct options *o)
{
	for (size_t i = 0; i < o->pid_texts.nr; i++) {
		const char *text = o->pid_texts.at[i];
		pid_t pid = proc_pid_parse(text);

		if (!pid) {
			log_error("-p %s: not a PID; see --help", text);
			return EXIT_USAGE;
		}
		if (kill(pid, 0) && errno == ESRCH) {
			log_error("-p %s: there is no such process", text);
			return EXIT_FAILED;
		}
		vec_push(&o->pids, pid);
	}
	return 0;
}

static int check(struct options *o)
{
	if (!(o->interval_s >= INTERVAL_MIN_S && o->interval_s <= INTERVAL_MAX_S)) {
		log_error("--interval %g: takes %g to %d seconds", o->interval_s, INTERVAL_MIN_S,
			  INTERVAL_MAX_S);
		return EXIT_USAGE;
	}
	if (o->nr_readings < 0 || o->nr_methods < 0 || o->nr_methods > METHODS_MAX) {
		log_error("-n and --methods take numbers from 0; --methods at most %d",
			  METHODS_MAX);
		return EXIT_USAGE;
	}
	if (board_key_parse(o->sort, &o->key)) {
		log_error("--sort %s: unknown; takes cpu, alloc, gc, jit, heap, threads, blocked, "
			  "pid or name",
			  o->sort);
		return EXIT_USAGE;
	}
	if (o->dir && !o->uses_daemon) {
		log_error("--dir %s: it is the daemon's; add --daemon", o->dir);
		return EXIT_USAGE;
	}
	if (o->is_once && o->nr_readings) {
		log_error("--once: it is -n 1; leave out -n %d", o->nr_readings);
		return EXIT_USAGE;
	}
	if (o->is_once)
		o->nr_readings = 1;
	o->is_batch |= o->is_once || o->is_json || o->nr_readings;
	return parse_pids(o);
}

/* The address and token of the daemon. */
static int find_daemon(const struct options *o, struct str *url, char token[TOKEN_LEN + 1])
{
	auto_str struct str why = { 0 };

	if (!o->uses_daemon || !home_read_link(o->dir ?: SERVE_DIR, url, token, &why))
		return 0;
	log_error("%s", why.at);
	return EXIT_FAILED;
}

static int run(const struct options *o)
{
	auto_str struct str url = { 0 };
	char token[TOKEN_LEN + 1] = "";
	int status = find_daemon(o, &url, token);
	const struct watch_options options = {
		.daemon_url = o->uses_daemon ? url.at : NULL,
		.daemon_token = token,
		.without_methods = !o->nr_methods,
		.keeps_output_rights = !o->is_batch && output_needs_rights("flame.html", false),
		.pids = o->pids.at,
		.nr_pids = o->pids.nr,
	};

	if (status)
		return status;
	if (!o->is_batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		log_error("standard input and output are not both a terminal; --batch prints "
			  "without one");
		return EXIT_USAGE;
	}
	auto_close int signal_fd = open_signals();
	struct watch *w = watch_new(&options);
	explicit_bzero(token, sizeof(token));
	if (!w)
		return EXIT_FAILED;
	const struct live_options live = { .key = o->key,
					   .filter = o->filter,
					   .has_pids = o->pids.nr > 0,
					   .interval_ns = (u64)(o->interval_s * 1e9),
					   .signal_fd = signal_fd };
	status = o->is_batch ? batch(w, signal_fd, o) : top_live(w, &live);
	watch_free(w);
	return status;
}

static void help(const struct opt *opts, size_t nr)
{
	puts("usage: sysflame top [OPTION..]\n\n"
	     "Shows what the JVMs of this node are doing: CPU time, allocation, garbage\n"
	     "collection, compilation, threads, heap, and the hottest methods. Changes nothing\n"
	     "in them and loads no agent. On a terminal, ? shows the keys and the columns.\n");
	opt_help(opts, nr);
	puts("\nCPU%, GC% and JIT% are percent of one CPU. ALLOC/s is the sum of the threads'\n"
	     "own counters; + : threads ended meanwhile, their last bytes are missing.\n"
	     "R/N/B/W: threads that run, are in native code, are blocked by a monitor, wait.\n"
	     "Columns and JSON: docs/operations.md.");
}

int top_main(int argc, char **argv)
{
	struct options o = { .interval_s = 1, .nr_methods = 10, .sort = "cpu", .filter = "" };
	const struct opt opts[] = {
		{ 'i', "interval", OPT_DOUBLE, &o.interval_s, "S",
		  "seconds from one reading to the next (default 1)" },
		{ 'p', "pid", OPT_LIST, &o.pid_texts, "PID", "only this JVM; may be repeated" },
		{ 's', "sort", OPT_STRING, &o.sort, "KEY",
		  "cpu, alloc, gc, jit, heap, threads, blocked, pid or name" },
		{ 'f', "filter", OPT_STRING, &o.filter, "TEXT",
		  "only JVMs with TEXT in name, container or PID" },
		{ 'm', "methods", OPT_INT, &o.nr_methods, "N",
		  "methods of each JVM in batch mode (default 10); 0: do not sample" },
		{ 'b', "batch", OPT_BOOL, &o.is_batch, NULL, "print readings, without a screen" },
		{ 'n', "readings", OPT_INT, &o.nr_readings, "N", "end after N readings" },
		{ 0, "once", OPT_BOOL, &o.is_once, NULL, "end after one reading" },
		{ 0, "json", OPT_BOOL, &o.is_json, NULL, "print a line of JSON for each reading" },
		{ 'd', "daemon", OPT_BOOL, &o.uses_daemon, NULL,
		  "show the readings of the daemon (sysflame serve) instead of own ones" },
		{ 0, "dir", OPT_STRING, &o.dir, "DIR",
		  "the daemon's directory (default " SERVE_DIR ")" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv), status = EXIT_USAGE;

	if (next >= 0 && o.help) {
		help(opts, ARRAY_SIZE(opts));
		status = 0;
	} else if (next >= 0 && next < argc) {
		log_error("%s: top takes options only; see --help", argv[next]);
	} else if (next >= 0) {
		status = check(&o) ?: run(&o);
	}
	vec_fini(&o.pid_texts);
	vec_fini(&o.pids);
	return status;
}
