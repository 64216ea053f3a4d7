/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame debug agent PID`: attaches to one JVM and prints the reports of its agent.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/opt.h"
#include "base/time.h"
#include "capture/programs/node_programs.h"
#include "cmd/cmd.h"
#include "jvm/agent/agents.h"
#include "jvm/agent/agents_debug.h"
#include "jvm/hotspot/thread_names.h"
#include "proc/status.h"

#define DRAIN_NS (10 * NS_PER_SEC)

struct options {
	const char *path, *way;
	double seconds;
	bool is_quiet, is_eager, help;
};

static void print_code(u64 start, u64 end, const struct java_frame *name, void *ctx)
{
	printf("%" PRIx64 " %" PRIx64 " %s %s%s%s%s\n", start, end - start,
	       frame_kind_name(name->kind), name->class_name, *name->class_name ? "." : "",
	       name->method, name->signature);
}

static void print_thread(pid_t tid, const char *name, void *ctx)
{
	printf("thread %d %s\n", (int)tid, name);
}

static void print_refusal(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	log_error("%d refused: %s", (int)pid, reason);
}

static int report(struct agents *a, const struct proc_status *p, const struct options *o)
{
	struct agent_figures figures;
	const struct codemap *map = agents_codemap(a, proc_status_id(p), &figures);

	if (!map) {
		agents_each(a, print_refusal, NULL);
		return EXIT_FAILED;
	}
	if (!o->is_quiet) {
		codemap_each(map, print_code, NULL);
		thread_names_each(figures.threads, print_thread, NULL);
	}
	log_info("attached in %.1f ms; %zu pieces of code stand, %zu are gone, %zu ignored; "
		 "%" PRIu64 " bytes read, %" PRIu64 " records lost; %zu KB kept; session %s",
		 (double)figures.attach_ns / 1e6, figures.code.nr_live, figures.code.nr_gone,
		 figures.code.nr_ignored, figures.ring_bytes, figures.nr_lost,
		 figures.code.bytes >> 10, figures.nonce);
	return 0;
}

/* Reads until the time is over or a signal arrives. */
static void stay(struct agents *a, double seconds)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	u64 end = time_mono_ns() + (u64)(seconds * 1e9);
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	agents_poll(a);
	while (time_mono_ns() < end && sigtimedwait(&ends, NULL, &pause) < 0)
		agents_poll(a);
	agents_poll(a);
}

/* One poll reads for a few milliseconds; on a busy machine that may not be enough. */
static void drain(struct agents *a, const struct proc_status *p)
{
	u64 end = time_mono_ns() + DRAIN_NS;

	while (!agents_are_read(a, proc_status_id(p)) && time_mono_ns() < end)
		agents_poll(a);
}

static enum delivery_way way_of(const char *name)
{
	if (!name)
		return DELIVERY_BEST;
	return !strcmp(name, "mount") ? DELIVERY_MOUNT : DELIVERY_COPY;
}

static int run(pid_t pid, const struct options *o)
{
	struct proc_status p;
	int err = proc_status_read(pid, &p);

	if (err) {
		log_error("process %d cannot be read: %s", (int)pid, strerror(-err));
		return EXIT_FAILED;
	}
	struct process_id id = proc_status_id(&p);
	struct agents *a = agents_new(o->path, AGENT_ALWAYS);
	struct jvm_registry *jvms = jvm_registry_new();
	jvm_registry_add(jvms, id);
	agents_use(a, jvms, NULL);
	facts_provide();
	agents_tune(a, way_of(o->way), o->is_eager);
	agents_request(a, id, id.start_ns, NULL);
	while (agents_is_undecided(a, id)) {
		agents_poll(a);
		usleep(1000);
	}
	stay(a, o->seconds);
	drain(a, &p);
	int status = report(a, &p, o);
	agents_free(a);
	jvm_registry_free(jvms);
	return status;
}

int debug_agent_main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ 0, "agent-path", OPT_STRING, &o.path, "FILE", "the agent's file" },
		{ 'd', "duration", OPT_DOUBLE, &o.seconds, "SEC", "stay attached that long" },
		{ 0, "delivery", OPT_STRING, &o.way, "WAY", "mount or copy, not the best of all" },
		{ 0, "eager", OPT_BOOL, &o.is_eager, NULL, "however young the JVM is" },
		{ 'q', "quiet", OPT_BOOL, &o.is_quiet, NULL, "print the closing line only" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int nr = opt_parse_mixed(opts, ARRAY_SIZE(opts), argc, argv);

	if (nr < 0)
		return EXIT_USAGE;
	pid_t pid = nr == 1 ? proc_pid_parse(argv[0]) : 0;
	if (o.help || !pid) {
		puts("usage: sysflame debug agent [OPTION]... PID");
		opt_help(opts, ARRAY_SIZE(opts));
		return o.help ? 0 : EXIT_USAGE;
	}
	if (o.way && strcmp(o.way, "mount") && strcmp(o.way, "copy")) {
		log_error("--delivery %s: takes mount or copy", o.way);
		return EXIT_USAGE;
	}
	return run(pid, &o);
}
