/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame jvms`: the JVMs of this node, and ending the sessions of their agents. */
#include "cmd/jvms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "capture/kernel/node_programs.h"
#include "cmd/cmd.h"
#include "cmd/jvms_show.h"
#include "cmd/output.h"
#include "cmd/terminal.h"
#include "jvm/attach/detach.h"
#include "jvm/perf_map_writer.h"
#include "jvm/process/javaproc.h"
#include "proc/rights.h"
#include "proc/status.h"

struct options {
	const char *detach, *perf_map, *remove_map, *agent_path;
	bool is_json, is_long, help;
};

/* Ends the sessions in one JVM; returns whether that worked. */
static bool detach(const struct javaproc *j, const char *agent_path)
{
	bool is_pending = false;
	auto_free char *why = detach_all(agent_path, j->id, &is_pending);

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
		jvms_show_json(&all);
	else if (o->is_long)
		jvms_show_long(&all);
	else
		jvms_show_table(&all, terminal_width(STDOUT_FILENO));
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
