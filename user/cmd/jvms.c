/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame jvms`: the JVMs of this node, and ending the sessions of their agents. */
#include "cmd/jvms.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "jvm/agents.h"
#include "jvm/javaproc.h"

struct options {
	const char *detach, *agent_path;
	bool is_json, help;
};

/* The user's name on this host; the number where it has none here. */
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

	return now > j->start_ns ? (now - j->start_ns) / NS_PER_SEC : 0;
}

static void print_table(const struct javaprocs *all)
{
	static const char *const titles[] = { "PID", "USER", "JDK", "UPTIME" };
	enum {
		COLUMNS = ARRAY_SIZE(titles)
	};
	struct str *cells = xcalloc((all->nr + 1) * COLUMNS, sizeof(*cells));
	size_t width[COLUMNS] = { 0 };

	for (size_t c = 0; c < COLUMNS; c++)
		str_add(&cells[c], titles[c]);
	for (size_t i = 0; i < all->nr; i++) {
		struct str *row = cells + (i + 1) * COLUMNS;
		str_addf(&row[0], "%d", (int)all->at[i].pid);
		add_user(&row[1], all->at[i].uid);
		str_addf(&row[2], "%s%s", all->at[i].jdk,
			 all->at[i].vm == VM_OPENJ9 ? " (OpenJ9)" : "");
		add_uptime(&row[3], uptime(&all->at[i]));
	}
	for (size_t i = 0; i < (all->nr + 1) * COLUMNS; i++)
		if (cells[i].len > width[i % COLUMNS])
			width[i % COLUMNS] = cells[i].len;
	for (size_t i = 0; i <= all->nr; i++) {
		for (size_t c = 0; c < COLUMNS; c++)
			printf(c == 0 || c == 3 ? "%*s  " : "%-*s  ", (int)width[c],
			       cells[i * COLUMNS + c].at);
		printf("%s%s\n", i ? all->at[i - 1].main : "MAIN CLASS",
		       i && all->at[i - 1].has_session ? "  (agent active)" : "");
	}
	for (size_t i = 0; i < (all->nr + 1) * COLUMNS; i++)
		str_fini(&cells[i]);
	free(cells);
}

/* The texts are clean already: only these two have a meaning in JSON. */
static void print_json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_json(const struct javaprocs *all)
{
	putchar('[');
	for (size_t i = 0; i < all->nr; i++) {
		const struct javaproc *j = &all->at[i];
		auto_str struct str user = { 0 };
		add_user(&user, j->uid);
		printf("%s\n  {\"pid\": %d, \"uid\": %u, \"user\": ", i ? "," : "", (int)j->pid,
		       j->uid);
		print_json_text(user.at);
		printf(", \"vm\": \"%s\", \"jdk\": ", j->vm == VM_OPENJ9 ? "openj9" : "hotspot");
		print_json_text(j->jdk);
		printf(", \"uptime_s\": %llu, \"main\": ", (unsigned long long)uptime(j));
		print_json_text(j->main);
		printf(", \"agent_active\": %s}", j->has_session ? "true" : "false");
	}
	puts(all->nr ? "\n]" : "]");
}

/* Ends the sessions in one JVM; returns whether that worked. */
static bool detach(const struct javaproc *j, const char *agent_path)
{
	auto_free char *why = agents_detach(agent_path, j->pid, j->start_ns);

	if (why)
		log_error("%d not detached: %s", (int)j->pid, why);
	else
		printf("%d detached\n", (int)j->pid);
	return !why;
}

static int detach_those(const struct javaprocs *all, const struct options *o)
{
	bool is_all = !strcmp(o->detach, "all");
	size_t nr_failed = 0, nr_found = 0;

	for (size_t i = 0; i < all->nr; i++) {
		if (!is_all && all->at[i].pid != atoi(o->detach))
			continue;
		nr_found++;
		if (all->at[i].has_session)
			nr_failed += !detach(&all->at[i], o->agent_path);
		else if (!is_all)
			log_info("no agent is active in %d", (int)all->at[i].pid);
	}
	if (!is_all && !nr_found) {
		log_error("%s is no JVM that we may look into; `sysflame jvms` lists those",
			  o->detach);
		return EXIT_FAILED;
	}
	return nr_failed ? EXIT_FAILED : 0;
}

static int run(const struct options *o)
{
	struct javaprocs all = { 0 };
	int status = 0, err = javaprocs_read(&all);

	if (err) {
		log_error("/proc cannot be read: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (o->detach)
		status = detach_those(&all, o);
	else if (o->is_json)
		print_json(&all);
	else
		print_table(&all);
	javaprocs_fini(&all);
	return status;
}

int jvms_main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ 0, "json", OPT_BOOL, &o.is_json, NULL, "print JSON" },
		{ 0, "detach", OPT_STRING, &o.detach, "PID|all", "end the sessions of agents" },
		{ 0, "agent-path", OPT_STRING, &o.agent_path, "FILE", "the agent's file" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "print this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (o.help) {
		puts("usage: sysflame jvms [OPTION]...\n\nLists the JVMs of this node.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (next < argc) {
		log_error("%s: jvms takes no words; see --help", argv[next]);
		return EXIT_USAGE;
	}
	if (o.detach && strcmp(o.detach, "all") &&
	    strspn(o.detach, "0123456789") != strlen(o.detach)) {
		log_error("--detach %s: takes a PID or `all`; see --help", o.detach);
		return EXIT_USAGE;
	}
	return run(&o);
}
