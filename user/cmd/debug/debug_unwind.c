/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame debug unwind`: stops a thread for a moment and prints its stack frame by frame, with
 * the rule that found each. The first tool when a stack looks wrong or a new JDK appears.
 * Part of cmd/cmd.h.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/debug/stopped.h"
#include "proc/status.h"

struct options {
	int tid, count, interval_us;
	bool collapsed, help;
};

/* Read the names while the thread is stopped: its code may be freed later. */
static int unwind_thread(struct stopped *t, pid_t tid, const struct options *o)
{
	struct thread_regs regs;
	struct walked w = { 0 };
	int signal = 0, err = stopped_seize(tid, &regs, &signal);

	if (err)
		return err;
	err = stopped_walk(t, &regs, &w);
	if (!err && o->collapsed)
		stopped_print_collapsed(t, &w);
	else if (!err)
		stopped_print(t, tid, &w);
	ptrace(PTRACE_DETACH, tid, 0, signal);
	walked_fini(&w);
	return err;
}

static int unwind_all_threads(struct stopped *t, const struct options *o)
{
	auto_free char *path = xasprintf("/proc/%d/task", t->pid);
	auto_closedir DIR *dir = opendir(path);
	int err = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *entry; !err && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		err = unwind_thread(t, atoi(entry->d_name), o);
		if (err == -ESRCH) /* the thread has ended */
			err = 0;
	}
	return err;
}

static int unwind(struct stopped *t, const struct options *o)
{
	const struct timespec pause = { o->interval_us / 1000000,
					o->interval_us % 1000000 * 1000L };
	int err = 0;

	for (int i = 0; i < o->count && !err; i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = o->tid ? unwind_thread(t, o->tid, o) : unwind_all_threads(t, o);
	}
	return err;
}

static int usage(const struct opt *opts, size_t nr, int status)
{
	puts("usage: sysflame debug unwind [OPTION..] PID\n\n"
	     "Stops threads for a moment and prints their stacks with the rule that found\n"
	     "each frame.\n");
	opt_help(opts, nr);
	return status;
}

int debug_unwind_main(int argc, char **argv)
{
	struct options o = { .count = 1, .interval_us = 10000 };
	const struct opt opts[] = {
		{ 't', "tid", OPT_INT, &o.tid, "TID", "only this thread" },
		{ 'n', "count", OPT_INT, &o.count, "N", "stop and print so many times" },
		{ 'i', "interval", OPT_INT, &o.interval_us, "US",
		  "microseconds between two times" },
		{ 0, "collapsed", OPT_BOOL, &o.collapsed, NULL, "one line per stack, root first" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this" },
	};
	int nr = opt_parse_mixed(opts, ARRAY_SIZE(opts), argc, argv);

	if (nr < 0 || o.help)
		return usage(opts, ARRAY_SIZE(opts), nr < 0 ? EXIT_USAGE : 0);
	pid_t pid = nr == 1 ? proc_pid_parse(argv[0]) : 0;
	if (!pid || o.tid < 0 || o.count < 1 || o.interval_us < 0) {
		log_error("debug unwind takes one PID, --tid and a count above 0, and an interval "
			  "of 0 or more");
		return EXIT_USAGE;
	}
	struct stopped t;
	int err = stopped_init(&t, pid) ?: unwind(&t, &o);
	if (err)
		log_error("cannot unwind process %d: %s", pid, strerror(-err));
	stopped_fini(&t);
	return err ? EXIT_FAILED : 0;
}
