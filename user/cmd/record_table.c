/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `sysflame record` with their help. */
#include "cmd/record_table.h"

#include "capture/targets/targets.h"
#include "cmd/profile_file.h"
#include "cmd/transforming.h"

static void add_opts(opt_table *t, const struct opt *opts, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		vec_push(t, opts[i]);
}

/* Processes, threads and CPUs to record. */
static void add_targets(opt_table *t, struct record_options *o)
{
	const struct opt opts[] = {
		OPT_GROUP_OF("Processes"),
		{ 'a', "all", OPT_BOOL, &o->all, NULL, "record the whole node (default)" },
		{ 'p', "pid", OPT_LIST, &o->selected[TARGET_PID], "PID,..",
		  "record only these processes and their children" },
		{ 0, "comm", OPT_LIST, &o->selected[TARGET_COMM], "NAME,..",
		  "record only processes with these names" },
		{ 0, "user", OPT_LIST, &o->selected[TARGET_USER], "USER,..",
		  "record only processes of these users" },
		{ 0, "jvms", OPT_BOOL, &o->jvms, NULL, "record only JVMs" },
		{ 0, "cgroup", OPT_LIST, &o->selected[TARGET_CGROUP], "PATH",
		  "record only this control group and those below it" },
		{ 0, "container", OPT_LIST, &o->selected[TARGET_CONTAINER], "ID|NAME,..",
		  "record only these containers" },
		{ 0, "pod", OPT_LIST, &o->selected[TARGET_POD], "[NS/]NAME,..",
		  "record only these Kubernetes pods" },
		{ 0, "exclude", OPT_LIST, &o->excluded, "KIND=VALUE",
		  "leave out comm=NAME, pod=NAME, .. or jvms; may be repeated" },
		{ 0, "thread-name", OPT_STRING, &o->thread, "REGEX",
		  "keep only samples of threads whose full name matches" },
		{ 0, "thread", OPT_STRING, &o->thread, "REGEX", NULL },
		{ 'C', "cpu", OPT_STRING, &o->cpu_list, "CPU,..",
		  "take samples on these CPUs only, as in 0-3,5" },
		{ 0, "wait-for", OPT_STRING, &o->wait_for, "PROGRAM",
		  "wait for a program of this name and record it; -d counts from its begin" },
	};

	add_opts(t, opts, ARRAY_SIZE(opts));
}

/* Events, rates, times, and options that change the cost. */
static void add_sampling(opt_table *t, struct record_options *o)
{
	const struct opt opts[] = {
		OPT_GROUP_OF("Events"),
		{ 'e', "event", OPT_PAIRS, &o->event_words, "EVENT,..",
		  "sample these: cpu, offcpu, wall, ..; sysflame events lists all" },
		{ 0, "filter", OPT_PAIRS, &o->event_words, "EXPR",
		  "only hits of the tracepoint before it with such arguments: 'sig == 9'" },
		{ 0, "trace", OPT_PAIRS, &o->event_words, "METHOD:TIME",
		  "record the calls of a Java method that last so long: -e java:METHOD:TIME" },
		{ 'F', "freq", OPT_INT, &o->freq_hz, "HZ",
		  "take HZ samples per second and CPU (99)" },
		{ 0, "period", OPT_INT, &o->period, "N",
		  "instead of -F: take a sample every N events or hits" },
		{ 0, "offcpu-min", OPT_DOUBLE, &o->offcpu_min_ms, "MS",
		  "record every wait of at least MS, sample shorter ones (1)" },
		{ 0, "lock-min", OPT_DOUBLE, &o->lock_min_ms, "MS",
		  "record every wait for a lock of at least MS, sample shorter ones (1)" },
		{ 0, "alloc-interval", OPT_STRING, &o->alloc_interval, "BYTES",
		  "alloc: take a sample every BYTES (512k)" },
		{ 0, "live", OPT_BOOL, &o->live, NULL,
		  "alloc: keep only objects that are reachable at the end" },
		{ 0, "gc", OPT_BOOL, &o->collect, NULL,
		  "with --live: run a full garbage collection before the end" },
		{ 0, "nativemem-interval", OPT_STRING, &o->nativemem_interval, "BYTES",
		  "nativemem: take a sample every BYTES (512k)" },
		{ 0, "leaks", OPT_DOUBLE, &o->leak_age_s, "SEC",
		  "nativemem: keep only memory older than SEC that was not freed" },
		{ 0, "reserved", OPT_BOOL, &o->reserved, NULL,
		  "with --leaks: keep memory that JVMs and threads reserve, too" },
		OPT_GROUP_OF("Time"),
		{ 'd', "duration", OPT_DOUBLE, &o->duration_s, "SEC",
		  "record for SEC seconds; 0: until Ctrl-C (default)" },
		{ 0, "begin-function", OPT_STRING, &o->begin, "FUNCTION",
		  "sample a process only after it enters FUNCTION" },
		{ 0, "begin", OPT_STRING, &o->begin, "FUNCTION", NULL },
		{ 0, "end-function", OPT_STRING, &o->end, "FUNCTION",
		  "sample a process only until it enters FUNCTION" },
		{ 0, "end", OPT_STRING, &o->end, "FUNCTION", NULL },
		{ 0, "time-to-safepoint", OPT_BOOL, &o->ttsp, NULL,
		  "sample a JVM only while it stops its threads at a safepoint" },
		{ 0, "ttsp", OPT_BOOL, &o->ttsp, NULL, NULL },
		OPT_GROUP_OF("Agent and cost"),
		{ 0, "agent", OPT_STRING, &o->agent_name, "WHEN",
		  "attach the agent to JVMs: auto, never, always (fail without it)" },
		{ 0, "agent-path", OPT_STRING, &o->agent_path, "FILE", "path of libjvmmap.so" },
		{ 0, "own", OPT_BOOL, &o->own, NULL,
		  "keep samples of sysflame's own attach to JVMs, in [sysflame attach]" },
		{ 0, "kernel-only", OPT_BOOL, &o->kernel_only, NULL,
		  "take no stacks of user space: the cheapest samples" },
		{ 0, "ring", OPT_INT, &o->ring_kb, "KB",
		  "size of the ring buffer (default: by CPUs and events)" },
		{ 0, "measure", OPT_BOOL, &o->measure, NULL, "report the cost of sampling" },
	};

	add_opts(t, opts, ARRAY_SIZE(opts));
}

/* Output files, levels and names of stacks, and messages. */
static void add_output(opt_table *t, struct record_options *o)
{
	const struct opt opts[] = {
		OPT_GROUP_OF("Output"),
		OUTPUT_OPT(&o->output),
		{ 0, "format", OPT_STRING, &o->format_name, "F",
		  "html, svg, .. (default: by FILE's extension)" },
		FORCE_OPT(&o->force),
		{ 0, "loop", OPT_STRING, &o->loop, "TIME",
		  "write a file every TIME (30s, 5m, 1h); in its name: %t, %n, %p, %h" },
		{ 0, "keep", OPT_INT, &o->keep, "N",
		  "with --loop: remove all but the last N files" },
		{ 0, "open", OPT_BOOL, &o->open, NULL,
		  "open the page in the browser of the user who called sudo" },
		{ 0, "timeline", OPT_BOOL, &o->timeline, NULL,
		  "keep time in slots of 10 ms; the page shows it and compares ranges" },
		OPT_GROUP_OF("Stacks and names"),
		{ 0, "by", OPT_STRING, &o->by, "LEVEL,..",
		  "levels under the root: process (default), thread, container, pod, host; none" },
		{ 0, "per-thread", OPT_BOOL, &o->by_thread, NULL, "add a level for each thread" },
		{ 0, "threads", OPT_BOOL, &o->by_thread, NULL, NULL },
		RAW_NAMES_OPT(&o->raw_names),
		TRANSFORM_OPT(&o->transform_words),
		STACK_OPTS(&o->stacks),
		{ 0, "lines", OPT_BOOL, &o->lines, NULL,
		  "add a frame for each line of a Java method" },
		{ 0, "sig", OPT_BOOL, &o->signatures, NULL,
		  "add its signature to the name of each Java method" },
		OPT_GROUP_OF("Messages"),
		{ 'q', "quiet", OPT_BOOL, &o->quiet, NULL,
		  "print no live line, no summary and no warning" },
		{ 'v', "verbose", OPT_BOOL, &o->verbose, NULL, "log more" },
		{ 'h', "help", OPT_BOOL, &o->help, NULL, "show this help" },
	};

	add_opts(t, opts, ARRAY_SIZE(opts));
}

void record_table(struct record_options *o, opt_table *out)
{
	add_targets(out, o);
	add_sampling(out, o);
	add_output(out, o);
}
