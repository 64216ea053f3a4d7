/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame jvms`: the JVMs of this node, and ending the sessions of their agents.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/time.h"
#include "capture/programs/node_programs.h"
#include "cmd/cmd.h"
#include "export/writers/amount.h"
#include "jvm/attach/inject.h"
#include "jvm/jvm_support.h"
#include "jvm/perf_map_writer.h"
#include "jvm/process/javaproc.h"
#include "proc/status.h"
#include "sandbox/rights.h"

#define MAIN_LEAST 24 /* characters of the main class for which other columns are dropped */

/* The user's name on this host, else the number. */
static void add_user(struct str *out, uid_t uid)
{
	const struct passwd *user = getpwuid(uid);

	if (user && utf8_is_clean(user->pw_name, 64))
		str_add(out, user->pw_name);
	else
		str_addf(out, "%u", uid);
}

/* "43s", "12m07s", "5h40m", "17d03h" */
static void add_uptime(struct str *out, u64 seconds)
{
	if (seconds < 60)
		str_addf(out, "%us", (unsigned)seconds);
	else if (seconds < 3600)
		str_addf(out, "%um%02us", (unsigned)seconds / 60, (unsigned)seconds % 60);
	else if (seconds < 86400)
		str_addf(out, "%uh%02um", (unsigned)seconds / 3600, (unsigned)seconds / 60 % 60);
	else
		str_addf(out, "%ud%02uh", (unsigned)(seconds / 86400),
			 (unsigned)(seconds / 3600 % 24));
}

static u64 uptime(const struct javaproc *j)
{
	u64 now = time_boot_ns();

	return now > j->id.start_ns ? (now - j->id.start_ns) / NS_PER_SEC : 0;
}

static const char *agent_text(const struct javaproc *j)
{
	return j->has_session ? "active" : j->has_agent ? "loaded" : "none";
}

enum column {
	PID,
	USER,
	CONTAINER,
	JDK,
	UPTIME,
	COLLECTOR,
	FLAGS,
	AGENT,
	MAIN,
	POSSIBLE,
	NR_COLUMNS
};

static const char *const titles[NR_COLUMNS] = { "PID",        "USER",    "CONTAINER", "JDK",
						"UPTIME",     "GC",      "FLAGS",     "AGENT",
						"MAIN CLASS", "POSSIBLE" };

/* The columns that a narrow terminal drops, in this order. */
static const enum column dropped[] = { POSSIBLE, UPTIME, COLLECTOR, USER, FLAGS, CONTAINER, JDK };

struct table {
	struct str *cells;
	size_t nr_rows;
	size_t width[NR_COLUMNS]; /* 0: left out */
};

static struct str *cell(const struct table *t, size_t row, enum column c)
{
	return &t->cells[row * NR_COLUMNS + c];
}

static void fill_row(struct table *t, size_t row, const struct javaproc *j,
		     const struct jvm_support *s)
{
	struct str *flags = cell(t, row, FLAGS);

	str_addf(cell(t, row, PID), "%d", (int)j->id.pid);
	add_user(cell(t, row, USER), j->uid);
	str_addf(cell(t, row, CONTAINER), "%.12s",
		 *s->container  ? s->container
		 : s->inner_pid ? "own pids"
				: "-");
	str_addf(cell(t, row, JDK), "%s%s", s->jdk, j->vm == VM_OPENJ9 ? " (OpenJ9)" : "");
	add_uptime(cell(t, row, UPTIME), uptime(j));
	str_add(cell(t, row, COLLECTOR), *s->collector ? s->collector : "-");
	for (int i = 0; i < NR_SURVEY_FLAGS; i++)
		if (jvm_support_flag_mark(s, i))
			str_addf(flags, "%s%s", flags->len ? "," : "", jvm_support_flag_mark(s, i));
	if (!flags->len)
		str_add(flags, "-");
	str_add(cell(t, row, AGENT), agent_text(j));
	str_add(cell(t, row, MAIN), s->main);
	str_add(cell(t, row, POSSIBLE), jvm_support_phrase(s));
}

static size_t total_width(const struct table *t)
{
	size_t total = 0;

	for (int c = 0; c < NR_COLUMNS; c++)
		total += t->width[c] ? t->width[c] + 2 : 0;
	return total - 2;
}

/* Shortens the main class first, then drops a column. */
static void fit(struct table *t, size_t width)
{
	for (size_t row = 0; row < t->nr_rows; row++)
		for (int c = 0; c < NR_COLUMNS; c++) {
			size_t cell_width = text_width(cell(t, row, c)->at);
			if (cell_width > t->width[c])
				t->width[c] = cell_width;
		}

	size_t full = t->width[MAIN], least = full < MAIN_LEAST ? full : MAIN_LEAST;
	t->width[MAIN] = least;
	for (size_t i = 0; i < ARRAY_SIZE(dropped) && total_width(t) > width; i++)
		t->width[dropped[i]] = 0;
	size_t used = total_width(t) - least;
	size_t room = width > used + least ? width - used : least;
	t->width[MAIN] = full < room ? full : room;
}

static void print_row(const struct table *t, size_t row)
{
	auto_str struct str line = { 0 };

	for (int c = 0; c < NR_COLUMNS; c++) {
		auto_str struct str text = { 0 };
		if (!t->width[c])
			continue;
		short_name_add(&text, cell(t, row, c)->at, c == MAIN, t->width[c]);
		int pad = (int)(t->width[c] - text_width(text.at));
		if (c == PID || c == UPTIME)
			str_addf(&line, "%*s%s  ", pad, "", text.at);
		else
			str_addf(&line, "%s%*s  ", text.at, pad, "");
	}
	while (line.len && line.at[line.len - 1] == ' ')
		line.at[--line.len] = '\0';
	puts(line.at);
}

/* A table; drops the least important columns until it fits `width`. */
static void show_table(const struct javaprocs *all, size_t width)
{
	struct table t = { .nr_rows = 1 };

	t.cells = xcalloc((all->nr + 1) * NR_COLUMNS, sizeof(*t.cells));
	for (int c = 0; c < NR_COLUMNS; c++)
		str_add(cell(&t, 0, c), titles[c]);
	for (size_t i = 0; i < all->nr; i++) {
		struct jvm_support s;
		if (jvm_support_read(&all->at[i], &s))
			continue;
		fill_row(&t, t.nr_rows++, &all->at[i], &s);
		jvm_support_fini(&s);
	}
	fit(&t, width);
	for (size_t row = 0; row < t.nr_rows; row++)
		print_row(&t, row);
	for (size_t i = 0; i < t.nr_rows * NR_COLUMNS; i++)
		str_fini(&t.cells[i]);
	free(t.cells);
}

static void print_possible(const struct javaproc *j, const struct jvm_support *s)
{
	if (s->no_names)
		printf("  without it  no names of Java frames: %s\n", s->no_names);
	else
		printf("  without it  names of compiled, inlined and interpreted frames%s\n",
		       s->gaps.nr ? ", but not:" : "");
	for (size_t i = 0; !s->no_names && i < s->gaps.nr; i++)
		printf("              %s\n", s->gaps.at[i]);
	if (s->no_agent)
		printf("  with it     %s: %s\n", s->may_be_later ? "not yet" : "no", s->no_agent);
	else
		puts("  with it     also what code was called that is gone when the sample is "
		     "named");
}

static void print_one(const struct javaproc *j, const struct jvm_support *s)
{
	auto_str struct str user = { 0 }, up = { 0 };

	add_user(&user, j->uid);
	add_uptime(&up, uptime(j));
	printf("%d  %s\n  user        %s (%u)\n", (int)j->id.pid, s->main, user.at, j->uid);
	printf("  container   %s", *s->container ? s->container : "none seen");
	if (s->inner_pid)
		printf("; its own pid namespace, where it is %d", (int)s->inner_pid);
	printf("\n  jdk         %s%s%s\n", s->jdk, *s->vm ? ", " : "", s->vm);
	printf("  uptime      %s\n  collector   %s\n  flags      ", up.at,
	       *s->collector ? s->collector : "?");
	for (int i = 0; i < NR_SURVEY_FLAGS; i++)
		if (s->is_flag_known[i])
			printf(" %c%s", s->flags[i] ? '+' : '-', jvm_support_flag_name(i));
	if (s->virtual.all)
		printf("\n  virtual     %u: %u run, %u wait, %u pinned", s->virtual.all,
		       s->virtual.run, s->virtual.wait, s->virtual.pinned);
	printf("\n  agent       %s\n", agent_text(j));
	print_possible(j, s);
}

/* A paragraph each. */
static void show_long(const struct javaprocs *all)
{
	for (size_t i = 0; i < all->nr; i++) {
		struct jvm_support s;
		if (jvm_support_read(&all->at[i], &s))
			continue;
		print_one(&all->at[i], &s);
		putchar('\n');
		jvm_support_fini(&s);
	}
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *as_json(const struct javaproc *j, const struct jvm_support *s)
{
	auto_str struct str user = { 0 };
	json_t *flags = json_object(), *gaps = json_array();
	json_t *virtual = json_pack("{sI sI sI sI}", "all", (json_int_t)s->virtual.all, "run",
				    (json_int_t)s->virtual.run, "wait", (json_int_t)s->virtual.wait,
				    "pinned", (json_int_t)s->virtual.pinned);

	add_user(&user, j->uid);
	for (int i = 0; i < NR_SURVEY_FLAGS; i++)
		json_object_set_new(flags, jvm_support_flag_name(i),
				    s->is_flag_known[i] ? json_boolean(s->flags[i]) : json_null());
	for (size_t i = 0; i < s->gaps.nr; i++)
		json_array_append_new(gaps, json_string(s->gaps.at[i]));
	return json_pack("{si sI ss so so ss ss so sI so so so ss ss s{sb so so} s{sb so sb}}",
			 "pid", (int)j->id.pid, "uid", (json_int_t)j->uid, "user", user.at,
			 "container", text_or_null(s->container), "inner_pid",
			 s->inner_pid ? json_integer(s->inner_pid) : json_null(), "vm",
			 j->vm == VM_OPENJ9 ? "openj9" : "hotspot", "jdk", s->jdk, "vm_text",
			 text_or_null(s->vm), "uptime_s", (json_int_t)uptime(j), "collector",
			 text_or_null(s->collector), "flags", flags, "virtual_threads", virtual,
			 "agent", agent_text(j), "main", s->main, "names_from_outside", "possible",
			 !s->no_names, "reason", text_or_null(s->no_names), "gaps", gaps, "attach",
			 "possible", !s->no_agent, "reason", text_or_null(s->no_agent), "later",
			 (int)s->may_be_later);
}

/* An array of objects as in docs/operations.md. */
static void show_json(const struct javaprocs *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->nr; i++) {
		struct jvm_support s;
		if (jvm_support_read(&all->at[i], &s))
			continue;
		json_array_append_new(list, as_json(&all->at[i], &s));
		jvm_support_fini(&s);
	}
	json_dumpf(list, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(list);
}

struct options {
	const char *detach, *perf_map, *remove_map, *agent_path;
	bool is_json, is_long, help;
};

/* Ends the sessions in one JVM; returns whether that worked. */
static bool detach(const struct javaproc *j, const char *agent_path)
{
	bool is_pending = false;
	auto_free char *why = inject_detach_all(agent_path, j->id, &is_pending);

	if (why)
		log_error("%d not detached: %s", (int)j->id.pid, why);
	else if (is_pending)
		printf("%d asked: its agent is not from our file, of another version maybe, and "
		       "detaches at the JVM's next event\n",
		       (int)j->id.pid);
	else
		printf("%d detached\n", (int)j->id.pid);
	return !why;
}

static void say_no_jvm(const char *pid)
{
	auto_free char *path = xasprintf("/proc/%d/maps", proc_pid_parse(pid));
	auto_str struct str remedy = { 0 };
	auto_free char *maps = NULL;
	size_t len;

	if (file_read(path, 1, &maps, &len) == -EACCES) {
		capabilities_add_remedy(&remedy, CAPABILITY(CAP_SYS_PTRACE));
		log_error("%s may be a JVM, but its mappings cannot be read; %s", pid, remedy.at);
	} else {
		log_error("%s is not a JVM that can be read; `sysflame jvms` lists these", pid);
	}
}

static int detach_those(const struct javaprocs *all, const struct options *o)
{
	bool is_all = !strcmp(o->detach, "all");
	size_t nr_failed = 0, nr_found = 0;

	for (size_t i = 0; i < all->nr; i++) {
		if (!is_all && all->at[i].id.pid != proc_pid_parse(o->detach))
			continue;
		nr_found++;
		/* An agent without a session may still have to restore classes. */
		if (all->at[i].has_session || all->at[i].has_agent)
			nr_failed += !detach(&all->at[i], o->agent_path);
		else if (!is_all)
			log_info("no agent is active in %d", (int)all->at[i].id.pid);
	}
	if (!is_all && !nr_found) {
		say_no_jvm(o->detach);
		return EXIT_FAILED;
	}
	return nr_failed ? EXIT_FAILED : 0;
}

static const struct javaproc *find(const struct javaprocs *all, const char *pid)
{
	for (size_t i = 0; i < all->nr; i++)
		if (all->at[i].id.pid == proc_pid_parse(pid))
			return &all->at[i];
	return NULL;
}

static int write_map(const struct javaprocs *all, const struct options *o)
{
	const struct javaproc *j = find(all, o->perf_map);
	struct perf_map_done done;

	if (!j) {
		say_no_jvm(o->perf_map);
		return EXIT_FAILED;
	}
	auto_free char *why = perf_map_write(o->agent_path, j->id, &done);
	if (why) {
		log_error("no map for %d: %s", (int)j->id.pid, why);
		return EXIT_FAILED;
	}
	printf("/tmp/perf-%d.map: %zu pieces of code%s%s\n", (int)j->id.pid, done.nr_lines,
	       done.no_agent ? ", named from outside: " : "", done.no_agent ?: "");
	free(done.no_agent);
	return 0;
}

static int remove_map(const struct javaprocs *all, const struct options *o)
{
	const struct javaproc *j = find(all, o->remove_map);
	auto_free char *why = perf_map_remove(
		j ? j->id : (struct process_id){ .pid = proc_pid_parse(o->remove_map) });

	if (why)
		log_error("the map of %s stays: %s", o->remove_map, why);
	return why ? EXIT_FAILED : 0;
}

static void say_hidden(size_t nr)
{
	auto_str struct str remedy = { 0 };

	if (!nr || (capabilities_read() & CAPABILITY(CAP_SYS_PTRACE)))
		return;
	capabilities_add_remedy(&remedy, CAPABILITY(CAP_SYS_PTRACE));
	log_warn("%zu process%s of other users cannot be examined, so JVMs among them are missing "
		 "here; %s",
		 nr, nr == 1 ? "" : "es", remedy.at);
}

static int run(const struct options *o)
{
	struct javaprocs all = { 0 };
	int status = 0, err = javaprocs_read(&all);

	if (err) {
		log_error("/proc cannot be read: %s", strerror(-err));
		return EXIT_FAILED;
	}
	struct remote *remote = remote_alone();
	facts_provide();
	if (o->detach)
		status = detach_those(&all, o);
	else if (o->perf_map)
		status = write_map(&all, o);
	else if (o->remove_map)
		status = remove_map(&all, o);
	else if (o->is_json)
		show_json(&all);
	else if (o->is_long)
		show_long(&all);
	else
		show_table(&all, terminal_width(STDOUT_FILENO));
	if (!o->detach && !o->perf_map && !o->remove_map)
		say_hidden(all.nr_hidden);
	remote_close(remote);
	javaprocs_fini(&all);
	return output_finish() ?: status;
}

static void help(const struct opt *opts, size_t nr)
{
	puts("usage: sysflame jvms [OPTION..]\n\n"
	     "Lists the JVMs of this node and what sysflame can record of each. Changes\n"
	     "nothing in them, except --detach, and --perf-map, which attaches for a moment.\n");
	opt_help(opts, nr);
	puts("\nFLAGS: FP = PreserveFramePointer, DNS = DebugNonSafepoints, no-attach =\n"
	     "DisableAttachMechanism, no-agents = EnableDynamicAgentLoading is off.\n"
	     "AGENT: none; loaded, but idle; active, while it reports to a sysflame.\n"
	     "A narrow terminal hides columns; -v and --json print all. Fields:\n"
	     "docs/operations.md.");
}

static int check(const struct options *o)
{
	if (!!o->detach + !!o->perf_map + !!o->remove_map > 1)
		log_error("--detach, --perf-map and --remove-perf-map exclude each other");
	else if (o->is_json && (o->detach || o->perf_map || o->remove_map))
		log_error("--json: it is for the list of JVMs; leave it out");
	else if (o->detach && strcmp(o->detach, "all") && !proc_pid_parse(o->detach))
		log_error("--detach %s: takes a PID or `all`; see --help", o->detach);
	else if ((o->perf_map && !proc_pid_parse(o->perf_map)) ||
		 (o->remove_map && !proc_pid_parse(o->remove_map)))
		log_error("%s: not a PID; see --help", o->perf_map ?: o->remove_map);
	else
		return 0;
	return EXIT_USAGE;
}

int jvms_main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ 'v', "verbose", OPT_BOOL, &o.is_long, NULL,
		  "print all that is known of each JVM" },
		{ 0, "json", OPT_BOOL, &o.is_json, NULL, "print JSON" },
		{ 0, "detach", OPT_STRING, &o.detach, "PID|all",
		  "end all sessions of the agent in this JVM" },
		{ 0, "perf-map", OPT_STRING, &o.perf_map, "PID",
		  "write /tmp/perf-PID.map for perf, here and in the container" },
		{ 0, "remove-perf-map", OPT_STRING, &o.remove_map, "PID", "remove that file" },
		{ 0, "agent-path", OPT_STRING, &o.agent_path, "FILE", "path of libjvmmap.so" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (o.help) {
		help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (next < argc) {
		log_error("%s: jvms takes options only; see --help", argv[next]);
		return EXIT_USAGE;
	}
	return check(&o) ?: run(&o);
}
