/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `sysflame record`. */
#include "cmd/record/record_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "capture/parsers.h"
#include "capture/targets/targets.h"
#include "cmd/profile_file.h"
#include "cmd/record/page_opener.h"
#include "cmd/record/part_files.h"
#include "cmd/stack_options.h"
#include "profile/names.h"

typedef VEC(struct opt) opt_table;

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
		{ 0, "service", OPT_LIST, &o->selected[TARGET_SERVICE], "NAME,..",
		  "record only processes of these services: service.name, OTEL_SERVICE_NAME, .." },
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
		{ 0, "traces", OPT_BOOL, &o->traces, NULL,
		  "keep trace and span of requests that threads publish" },
		{ 0, "label", OPT_LIST, &o->label_words, "NAME=CLASS.FIELD[.field..]",
		  "a label with the value of a JVM's ThreadLocal or a field of it; mdc:KEY, otel" },
		OPT_GROUP_OF("Stacks and names"),
		{ 0, "by", OPT_STRING, &o->by, "LEVEL,..",
		  "levels under the root: process (default), thread, container, pod, host; none" },
		{ 0, "per-thread", OPT_BOOL, &o->by_thread, NULL, "add a level for each thread" },
		{ 0, "threads", OPT_BOOL, &o->by_thread, NULL, NULL },
		RAW_NAMES_OPT(&o->raw_names),
		{ 0, "debug-dir", OPT_LIST, &o->late.folders, "DIR",
		  "name functions by debug files in this folder, too; may be repeated" },
		DEBUGINFOD_OPT(&o->late),
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

/* Adds all options, which set fields of *o. The caller frees the table with vec_fini. */
static void fill_table(struct record_options *o, opt_table *out)
{
	add_targets(out, o);
	add_sampling(out, o);
	add_output(out, o);
}

#define FREQ_HZ                99
#define RING_MAX_KB            (64 << 10)
#define DURATION_MAX_S         (7 * 24 * 3600)
#define LOCK_MIN_MAX_MS        200
#define OFFCPU_MIN_MAX_MS      4000
#define NATIVEMEM_INTERVAL_MIN (1u << 10)
#define ALLOC_INTERVAL_MIN     (4u << 10)
#define INTERVAL_MAX           (128u << 20)

/* HotSpot stops its threads at a safepoint between these functions; JDK 11 to 28. */
#define TTSP_BEGIN "SafepointSynchronize::begin"
#define TTSP_END   "RuntimeService::record_safepoint_synchronized"

#define usage_error(...) (log_error(__VA_ARGS__), -EINVAL)

static const char *const target_options[NR_TARGET_KINDS] = {
	[TARGET_PID] = "-p",     [TARGET_COMM] = "--comm",       [TARGET_USER] = "--user",
	[TARGET_JVM] = "--jvms", [TARGET_CGROUP] = "--cgroup",   [TARGET_CONTAINER] = "--container",
	[TARGET_POD] = "--pod",  [TARGET_SERVICE] = "--service",
};

static int choose_targets(struct record_options *o)
{
	auto_str struct str why = { 0 };

	o->targets = targets_new();
	if (o->jvms)
		targets_add(o->targets, TARGET_JVM, false, "", &why);
	for (enum target_kind kind = 0; kind < NR_TARGET_KINDS; kind++)
		vec_each(text, &o->selected[kind])
			if (targets_add(o->targets, kind, false, *text, &why))
				return usage_error("%s %s: %s", target_options[kind], *text,
						   why.at);
	if (o->all && (targets_select(o->targets) || o->command))
		return usage_error("-a profiles everything: leave out %s",
				   o->command ? "the command" : targets_text(o->targets));
	if (o->wait_for && (targets_select(o->targets) || o->all || o->command))
		return usage_error("--wait-for %s: it selects the process; leave out %s",
				   o->wait_for,
				   o->command ? "the command"
				   : o->all   ? "-a"
					      : targets_text(o->targets));
	if (o->wait_for && targets_wait_for(o->targets, o->wait_for, &why))
		return usage_error("--wait-for %s: %s", o->wait_for, why.at);
	if (o->duration_s > 0)
		targets_require_groups(o->targets);
	vec_each(text, &o->excluded)
		if (targets_exclude(o->targets, *text, &why))
			return usage_error("--exclude %s: %s", *text, why.at);
	return 0;
}

static int choose_levels(struct record_options *o)
{
	auto_str struct str why = { 0 };
	char text[128];

	if (levels_parse(o->by, &o->levels, &why))
		return usage_error("--by %s: %s", o->by, why.at);
	if (o->by_thread)
		levels_add(&o->levels, LEVEL_THREAD);
	int err = o->thread ? regcomp(&o->thread_regex, o->thread, REG_EXTENDED | REG_NOSUB) : 0;
	if (!err)
		return 0;
	regerror(err, &o->thread_regex, text, sizeof(text));
	log_error("--thread-name %s: %s", o->thread, text);
	o->thread = NULL;
	return -EINVAL;
}

/* The extension of files of that format. */
static const char *format_extension(const char *name)
{
	const struct format *f = format_by_name(name);

	return f && f->extensions[0] ? f->extensions[0] : name;
}

static int parse_labels(struct record_options *o)
{
	for (size_t i = 0; i < o->label_words.nr; i++) {
		auto_str struct str why = { 0 };
		const char *text = o->label_words.at[i];
		if (thread_locals_add(text, o->traces, o->labels, &o->nr_labels, &why))
			return usage_error("--label %s: %s", text, why.at);
	}
	return 0;
}

/* Whether --loop and --keep make sense together with the rest. */
static int check_loop(struct record_options *o)
{
	auto_str struct str name = { 0 }, why = { 0 };
	pid_t pid = targets_pid(o->targets, 0) && !targets_pid(o->targets, 1)
			    ? targets_pid(o->targets, 0)
			    : o->command != NULL;

	if (o->keep != NOT_GIVEN && (o->keep < 1 || !o->loop))
		return usage_error("--keep %d: %s", o->keep,
				   o->loop ? "takes a number from 1 on"
					   : "it is an option of --loop; add --loop 1h");
	if (o->traces && (o->live || !isnan(o->leak_age_s)))
		return usage_error(
			"--traces: samples of --live and --leaks keep no trace; leave out one "
			"of them");
	if (!o->loop)
		return 0;
	if (!part_duration_parse(o->loop, &o->loop_ns))
		return usage_error("--loop %s: takes a time from 1s to 7d, as in 30s, 5m or 1h",
				   o->loop);
	if (o->live || !isnan(o->leak_age_s))
		return usage_error("--loop: samples of --live and --leaks are known at the end "
				   "only; leave out one of them");
	if (o->open)
		return usage_error("--loop: there are many pages; leave out --open");
	if (!strcmp(o->output, "-") || !strncmp(o->output, "/dev/", 5))
		return usage_error("-o %s: --loop writes files", o->output);
	if (!part_names_differ(o->output))
		return usage_error("-o %s: each file of --loop needs a name of its own; add %%t, "
				   "its time, or %%n, its number",
				   o->output);
	if (part_name(o->output, 0, 1, pid, &name, &why))
		return usage_error("-o %s: %s", o->output, why.at);
	return 0;
}

static int choose_format(struct record_options *o)
{
	if (o->loop && !o->output)
		o->output = o->own_output = xasprintf(
			"flame-%%t.%s", o->format_name ? format_extension(o->format_name) : "html");
	o->has_no_output = !o->output;
	o->format = o->format_name ? format_by_name(o->format_name)
				   : format_by_path(o->output ?: "flame.html");
	if (!o->format_name && !o->format && profile_file_is_folder(o->output))
		return -EINVAL;
	if (o->format && o->open &&
	    (!o->format->has_view || (o->output && !page_opener_is_page(o->output))))
		return usage_error("--open: a browser opens files of the format html; end the name "
				   "of -o in .html");
	if (o->format && !o->output)
		o->output = o->own_output =
			xasprintf("flame.%s", o->format->extensions[0] ?: o->format->name);
	if (o->format)
		return 0;
	if (o->format_name)
		return usage_error("--format %s: unknown format; sysflame report --help lists them",
				   o->format_name);
	return usage_error("-o %s: no format has this extension; end the name in .html or .txt, or "
			   "add --format",
			   o->output);
}

static int choose_agent(struct record_options *o)
{
	static const char *const names[] = {
		[AGENT_AUTO] = "auto",
		[AGENT_ALWAYS] = "always",
		[AGENT_NEVER] = "never",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(o->agent_name, names[i])) {
			o->agent = (enum agent_mode)i;
			return 0;
		}
	return usage_error("--agent %s: takes auto, always or never", o->agent_name);
}

/* Probes look for the agent's file by its name in the mappings of a JVM. */
static int check_agent_path(const struct record_options *o)
{
	const char *slash = o->agent_path ? strrchr(o->agent_path, '/') : NULL;
	const char *name = slash ? slash + 1 : o->agent_path;

	if (name && strncmp(name, "libjvmmap", strlen("libjvmmap")) != 0)
		return usage_error("--agent-path %s: the file's name must begin with libjvmmap",
				   o->agent_path);
	return 0;
}

/* "524288", "512k" or "1m". */
static int parse_bytes(const char *option, const char *text, u64 min, u64 *out)
{
	u64 bytes;

	if (!bytes_parse(text, &bytes))
		return usage_error("%s %s: takes bytes, as in 524288, 512k or 1m", option, text);
	if (bytes < min || bytes > INTERVAL_MAX)
		return usage_error("%s %s: takes %lluk to %um; with less, nearly every allocation "
				   "would be sampled and the program would stall",
				   option, text, (unsigned long long)min >> 10, INTERVAL_MAX >> 20);
	*out = bytes;
	return 0;
}

static bool has_event(const struct record_options *o, const char *name)
{
	vec_each(e, &o->events.list)
		if (!strcmp(e->name, name))
			return true;
	return false;
}

static size_t nr_with_period(const struct record_options *o)
{
	size_t nr = 0;

	vec_each(e, &o->events.list)
		nr += event_has_period(e);
	return nr;
}

/* An option of one event has no effect without that event. */
static int check_uses(const struct record_options *o)
{
	const struct record_options unset = record_options_default();
	const struct {
		const char *option;
		bool is_given;
		const char *event, *other_event;
	} uses[] = {
		{ "--alloc-interval", o->alloc_interval != unset.alloc_interval, "alloc", NULL },
		{ "--live", o->live, "alloc", NULL },
		{ "--leaks", !isnan(o->leak_age_s), "nativemem", NULL },
		{ "--reserved", o->reserved, "nativemem", NULL },
		{ "--nativemem-interval", o->nativemem_interval != unset.nativemem_interval,
		  "nativemem", NULL },
		{ "--lock-min", o->lock_min_ms != unset.lock_min_ms, "lock", "nativelock" },
		{ "--offcpu-min", o->offcpu_min_ms != unset.offcpu_min_ms, "offcpu", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		const char *event = uses[i].event, *other = uses[i].other_event;
		if (uses[i].is_given && !has_event(o, event) && !(other && has_event(o, other)))
			return usage_error("%s: it is an option of the event %s; add -e %s",
					   uses[i].option, event, event);
	}
	if (o->period != NOT_GIVEN && !nr_with_period(o))
		return usage_error("--period %d: %s has its own interval or minimum; see --help",
				   o->period, o->event_list);
	if (o->period != NOT_GIVEN && o->freq_hz != NOT_GIVEN &&
	    nr_with_period(o) == o->events.list.nr)
		return usage_error("--period %d: it takes the place of -F; leave out one of them",
				   o->period);
	/* Only the agent can follow objects. */
	if (o->live && o->agent == AGENT_NEVER)
		return usage_error("--live: only the agent finds reachable objects; leave out "
				   "--agent never");
	if (o->reserved && isnan(o->leak_age_s))
		return usage_error("--reserved: it is an option of --leaks; add --leaks SEC");
	return o->collect && !o->live ? usage_error("--gc: it is an option of --live; add --live")
				      : 0;
}

/* Joins the lists of several -e. Those of --trace are methods. */
static void join_events(struct record_options *o)
{
	struct str all = { 0 };

	vec_each(w, &o->event_words) {
		if (!strcmp(w->option, "filter"))
			continue;
		auto_free char *list = xstrdup(w->value);
		for (char *rest = list, *name; (name = strsep(&rest, ","));)
			str_addf(&all, "%s%s%s", all.len ? "," : "",
				 strcmp(w->option, "trace") ? "" : "java:", name);
	}
	if (all.len)
		o->event_list = o->own_event_list = all.at;
}

/* Each --filter belongs to the last event named before it. */
static int set_filters(struct record_options *o)
{
	auto_str struct str why = { 0 };
	size_t nr = 0;

	vec_each(w, &o->event_words) {
		if (strcmp(w->option, "filter")) {
			nr++;
			for (const char *c = w->value; *c; c++)
				nr += *c == ',';
			continue;
		}
		if (!nr)
			return usage_error("--filter '%s': it follows the event that it is for, as "
					   "in -e sched:sched_switch --filter 'prev_prio < 100'",
					   w->value);
		if (event_set_filter(&o->events.list.at[nr - 1], w->value, &why))
			return usage_error("%s", why.at);
	}
	return 0;
}

static int parse_events(struct record_options *o)
{
	auto_str struct str why = { 0 };
	int err = parsers_new(&o->workers);

	join_events(o);
	if (err) /* node_new warns */
		log_debug("files that events name are read without a deadline: %s", strerror(-err));
	o->sampling.workers = o->workers;
	err = events_parse(o->event_list, &o->sampling, &o->events, &why);
	if (err)
		log_error("%s", why.at);
	else if (o->events.list.nr > 1 && o->format->has_one_value)
		log_warn("%s will hold %s only: that format has one value; html holds all",
			 o->output, o->events.list.at[0].name);
	return err;
}

/* A CPU that is offline is sampled from the time it comes online. */
static int choose_cpus(struct record_options *o)
{
	cpulist present = { 0 }, online = { 0 };
	auto_str struct str there = { 0 };
	int err = 0;

	if (!o->cpu_list)
		return 0;
	if (cpulist_parse(o->cpu_list, &o->cpus) || !o->cpus.nr)
		return usage_error("-C %s: takes CPUs, as in 0-3,5", o->cpu_list);
	err = cpulist_present(&present) ?: cpulist_online(&online);
	if (err)
		log_error("-C %s: the CPUs of this machine are unknown: %s", o->cpu_list,
			  strerror(-err));
	cpulist_text(&present, &there);
	for (size_t i = 0; !err && i < o->cpus.nr; i++) {
		int cpu = o->cpus.at[i];
		if (!cpulist_has(&present, cpu))
			err = usage_error("-C %s: there is no CPU %d; this machine has %s",
					  o->cpu_list, cpu, there.at);
		else if (!cpulist_has(&online, cpu))
			log_warn("CPU %d is offline; it is sampled once it is online", cpu);
	}
	vec_fini(&present);
	vec_fini(&online);
	return err;
}

static int choose_events(struct record_options *o)
{
	if (o->period != NOT_GIVEN && o->period < 1)
		return usage_error("--period %d: takes a number from 1 on", o->period);
	if (o->lock_min_ms < 1e-6 || o->lock_min_ms > LOCK_MIN_MAX_MS)
		return usage_error("--lock-min %g: takes milliseconds, up to %d", o->lock_min_ms,
				   LOCK_MIN_MAX_MS);
	if (o->offcpu_min_ms < 1e-6 || o->offcpu_min_ms > OFFCPU_MIN_MAX_MS)
		return usage_error("--offcpu-min %g: takes milliseconds, up to %d",
				   o->offcpu_min_ms, OFFCPU_MIN_MAX_MS);
	if (o->ttsp && (o->begin || o->end))
		return usage_error("--time-to-safepoint excludes --begin- and --end-function");
	if (o->leak_age_s < 0 || o->leak_age_s > DURATION_MAX_S)
		return usage_error("--leaks %g: takes seconds, up to a week", o->leak_age_s);
	o->sampling = (struct event_options){
		.without_agent = o->agent == AGENT_NEVER,
		.live = o->live,
		.collect = o->collect,
		.leaks = !isnan(o->leak_age_s),
		.reserved = o->reserved,
		.own = o->own,
		.kernel_only = o->kernel_only,
		.leak_age_ns = o->leak_age_s > 0 ? (u64)(o->leak_age_s * NS_PER_SEC) : 0,
		.begin = o->ttsp ? TTSP_BEGIN : o->begin,
		.end = o->ttsp ? TTSP_END : o->end,
		.targets = o->targets,
		.cpus = o->cpus.nr ? &o->cpus : NULL,
		.freq_hz = o->freq_hz != NOT_GIVEN ? o->freq_hz : FREQ_HZ,
		.period = o->period != NOT_GIVEN ? (u64)o->period : 0,
		.offcpu_min_ns = (u64)(o->offcpu_min_ms * NS_PER_MS),
		.lock_min_ns = (u64)(o->lock_min_ms * NS_PER_MS),
	};
	int err = parse_bytes("--alloc-interval", o->alloc_interval, ALLOC_INTERVAL_MIN,
			      &o->sampling.alloc_interval)
			  ?: parse_bytes("--nativemem-interval", o->nativemem_interval,
					 NATIVEMEM_INTERVAL_MIN, &o->sampling.nativemem_interval);
	if (err)
		return err;
	return parse_events(o) ?: set_filters(o) ?: check_uses(o) ?: parse_labels(o);
}

static int check(struct record_options *o)
{
	if (o->freq_hz != NOT_GIVEN && (o->freq_hz < 1 || o->freq_hz > EVENTS_FREQ_MAX_HZ))
		return usage_error("-F %d: takes 1 to %d samples per second", o->freq_hz,
				   EVENTS_FREQ_MAX_HZ);
	if (o->duration_s < 0 || o->duration_s > DURATION_MAX_S)
		return usage_error("-d %g: takes seconds, up to a week", o->duration_s);
	if (o->ring_kb != NOT_GIVEN && (o->ring_kb < 1 || o->ring_kb > RING_MAX_KB))
		return usage_error("--ring %d: takes 1 to %d KB", o->ring_kb, RING_MAX_KB);
	o->ring_bytes = o->ring_kb != NOT_GIVEN ? (size_t)o->ring_kb << 10 : 0;
	if (o->selected[TARGET_PID].nr && o->command)
		return usage_error("-p and a command exclude each other");
	return choose_targets(o) ?: choose_levels(o) ?: choose_format(o) ?: choose_agent(o) ?: check_agent_path(o) ?: choose_cpus(o) ?: choose_events(o) ?:
	       check_loop(o) ?: stack_options_check(&o->stacks, o->format) ?: transforming_parse(&o->transform_words, &o->transforms);
}

static void help(const struct opt *opts, size_t nr)
{
	puts("usage: sysflame record [OPTION..] [-- COMMAND ARG..]\n\n"
	     "Samples every CPU and writes a flame graph. Records until Ctrl-C or until the\n"
	     "command ends, unless -d is given: then it writes the profile after that time,\n"
	     "and waits for the command. Without -o, prints the hottest methods and writes the\n"
	     "first unused name of flame.html, flame-2.html, .. With -o, replaces the file.\n");
	opt_help(opts, nr);
}

static int parse_table(const opt_table *t, struct record_options *o, int argc, char **argv)
{
	int next = opt_parse(t->at, t->nr, argc, argv);

	if (next < 0)
		return next;
	if (o->help) {
		help(t->at, t->nr);
		return 1;
	}
	if (next < argc && strcmp(argv[next - 1], "--"))
		return usage_error("%s: unexpected; a command to profile follows --", argv[next]);
	if (next == argc && argc > 1 && !strcmp(argv[argc - 1], "--"))
		return usage_error("--: the command to profile is missing");
	o->command = next < argc ? argv + next : NULL;
	log_set_level(o->verbose ? LOG_DEBUG : o->quiet ? LOG_ERROR : LOG_INFO);
	return check(o);
}

int record_options_parse(struct record_options *o, int argc, char **argv)
{
	opt_table t = { 0 };

	fill_table(o, &t);
	int done = parse_table(&t, o, argc, argv);
	vec_fini(&t);
	return done;
}

struct record_options record_options_default(void)
{
	return (struct record_options){
		.event_list = "cpu",
		.offcpu_min_ms = 1,
		.lock_min_ms = 1,
		.nativemem_interval = "512k",
		.leak_age_s = NAN,
		.alloc_interval = "512k",
		.by = "process",
		.agent_name = "auto",
		.freq_hz = NOT_GIVEN,
		.period = NOT_GIVEN,
		.ring_kb = NOT_GIVEN,
		.keep = NOT_GIVEN,
	};
}

void record_options_fini(struct record_options *o)
{
	targets_free(o->targets);
	free(o->own_output);
	for (size_t i = 0; i < NR_TARGET_KINDS; i++)
		vec_fini(&o->selected[i]);
	vec_fini(&o->excluded);
	vec_fini(&o->label_words);
	vec_fini(&o->cpus);
	vec_fini(&o->event_words);
	free(o->own_event_list);
	if (o->thread)
		regfree(&o->thread_regex);
	stack_options_fini(&o->stacks);
	late_symbols_fini(&o->late);
	vec_fini(&o->transform_words);
	transforms_fini(&o->transforms);
	events_fini(&o->events);
	workers_free(o->workers);
}
