/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysflame doctor: what the kernel, the capabilities and the JVMs allow, with remedies.
 * Part of cmd/cmd.h.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/build.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/features.h"
#include "capture/programs/node_programs.h"
#include "capture/rights.h"
#include "cmd/cmd.h"
#include "jvm/agent/agents.h"
#include "jvm/attach/agent_file.h"
#include "jvm/jvm_support.h"
#include "sandbox/rights.h"

/* JVMs with the same finding share a line of the output: a node may run a thousand JVMs. */
struct jvm_group {
	char *key;      /* the finding with N for each number: sizes and minutes differ */
	char *finding;  /* the phrase, then a line for each reason */
	bool is_varied; /* other members have other numbers */
	const char *verdict;
	struct str members; /* "PID MAIN, PID MAIN"; the first few */
	size_t nr;
};

struct jvm_groups {
	VEC(struct jvm_group) all; /* in the order of their first JVMs */
};

#define MEMBERS_SHOWN 5
#define INDENT        9 /* of lines below a verdict */

static char *without_numbers(const char *text)
{
	struct str out = { 0 };

	for (; *text; text++)
		if (!isdigit((unsigned char)*text))
			str_add_bytes(&out, text, 1);
		else if (!isdigit((unsigned char)text[1]))
			str_add(&out, "N");
	return str_take(&out);
}

/* The group of this finding; a new group takes ownership of it. */
static struct jvm_group *find(struct jvm_groups *g, struct str *finding,
			      const struct jvm_support *s)
{
	auto_free char *key = without_numbers(finding->at);

	vec_each(one, &g->all)
		if (!strcmp(one->key, key)) {
			one->is_varied |= strcmp(one->finding, finding->at) != 0;
			return one;
		}
	struct jvm_group new = {
		.key = take(key),
		.finding = str_take(finding),
		.verdict = s->no_names   ? "missing"
			   : s->no_agent ? "partly"
					 : "OK",
	};
	vec_push(&g->all, new);
	return &g->all.at[g->all.nr - 1];
}

static void jvm_groups_add(struct jvm_groups *g, const struct javaproc *j,
			   const struct jvm_support *s)
{
	auto_str struct str finding = { 0 };

	str_addf(&finding, "%s\n", jvm_support_phrase(s));
	if (s->no_names)
		str_addf(&finding, "no names: %s\n", s->no_names);
	if (s->no_agent)
		str_addf(&finding, "no agent: %s\n", s->no_agent);
	struct jvm_group *group = find(g, &finding, s);
	if (group->nr++ < MEMBERS_SHOWN)
		str_addf(&group->members, "%s%d %s", group->nr > 1 ? ", " : "", (int)j->id.pid,
			 s->main);
}

/* A line below the verdict. */
static void print_below(const char *text, size_t len)
{
	auto_free char *one = xstrndup(text, len);
	auto_str struct str line = { 0 };

	str_addf(&line, "%*s", INDENT, "");
	wrap_add(&line, one, INDENT, INDENT, wrap_columns(STDOUT_FILENO));
	puts(line.at);
}

/* The phrase behind the verdict, and the reasons below it. */
static void print_finding(const char *finding)
{
	size_t len = strcspn(finding, "\n");

	printf("%.*s\n", (int)len, finding);
	for (finding += len; *finding == '\n' && finding[1]; finding += len) {
		len = strcspn(++finding, "\n");
		print_below(finding, len);
	}
}

/* On standard output. */
static void jvm_groups_print(const struct jvm_groups *g)
{
	vec_each(one, &g->all) {
		if (one->nr == 1) {
			printf("%-8s JVM %s: ", one->verdict, one->members.at);
			print_finding(one->finding);
			continue;
		}
		auto_str struct str members = { 0 };
		str_add(&members, one->members.at);
		if (one->nr > MEMBERS_SHOWN)
			str_addf(&members, ", .. and %zu more; --json lists each",
				 one->nr - MEMBERS_SHOWN);
		printf("%-8s %zu JVMs: ", one->verdict, one->nr);
		print_finding(one->is_varied ? one->key : one->finding);
		print_below(members.at, members.len);
	}
}

static void jvm_groups_fini(struct jvm_groups *g)
{
	vec_each(one, &g->all) {
		free(one->key);
		free(one->finding);
		str_fini(&one->members);
	}
	vec_fini(&g->all);
}

struct visit {
	const char *agent_path;
	json_t *features, *jvms; /* NULL: for people */
	json_t *processes;
	struct jvm_groups groups; /* for people */
	bool can_record;
};

/* Prints a row: its first columns, and text that continues below itself. */
static void print_row(const char *columns, const char *text)
{
	auto_str struct str line = { 0 };

	str_add(&line, columns);
	wrap_add(&line, text, line.len, line.len, wrap_columns(STDOUT_FILENO));
	puts(line.at);
}

static void print_feature(const struct feature *f)
{
	auto_free char *columns = xasprintf("%-8s %-24s ", f->is_ok ? "OK" : "missing", f->name);

	print_row(columns, f->gives);
	if (f->remedy)
		print_row("         ", f->remedy);
}

static void report_feature(const struct feature *f, void *ctx)
{
	struct visit *v = ctx;

	v->can_record &= f->is_ok || !f->is_needed;
	if (v->features)
		json_array_append_new(v->features,
				      json_pack("{ss ss sb sb ss?}", "name", f->name, "gives",
						f->gives, "ok", f->is_ok, "needed", f->is_needed,
						"remedy", f->remedy));
	else
		print_feature(f);
}

static void report_agent(struct visit *v)
{
	auto_free char *path = agent_file_find(v->agent_path);
	auto_str struct str why = { 0 };

	if (!path)
		str_add(&why, agent_file_missing(v->agent_path));
	bool is_good = path && agent_file_is_good(path, &why);
	const struct feature f = { "agent",
				   is_good ? "its file is there"
					   : "exact names of compiled Java code",
				   is_good, false, is_good ? NULL : why.at };

	report_feature(&f, v);
}

static void report_jvm(struct visit *v, const struct javaproc *j, const struct jvm_support *s)
{
	bool is_ok = !s->no_names && !s->no_agent;

	if (v->jvms)
		json_array_append_new(
			v->jvms, json_pack("{si ss ss sb ss? ss?}", "pid", (int)j->id.pid, "main",
					   s->main, "possible", jvm_support_phrase(s), "ok", is_ok,
					   "no_names", s->no_names, "no_agent", s->no_agent));
	else
		jvm_groups_add(&v->groups, j, s);
}

static void report_jvms(struct visit *v)
{
	struct javaprocs all = { 0 };

	if (javaprocs_read(&all)) {
		log_warn("/proc cannot be read: JVMs are not examined");
		return;
	}
	vec_each(j, &all) {
		struct jvm_support s;
		if (jvm_support_read(j, &s))
			continue;
		report_jvm(v, j, &s);
		jvm_support_fini(&s);
	}
	jvm_groups_print(&v->groups);
	jvm_groups_fini(&v->groups);
	javaprocs_fini(&all);
}

static void print_privilege(const struct privilege *p, bool is_held, const char *capability)
{
	auto_free char *columns =
		xasprintf("%-8s %-16s %-24s ", is_held ? "kept" : "missing", p->name, capability);
	auto_free char *purpose =
		xasprintf("%s%s%s", p->purpose, p->if_asked ? ", " : "", p->if_asked ?: "");

	print_row(columns, purpose);
}

/* Reports a capability, or the wider one that the process keeps in its place. */
static void report_privilege(const struct privilege *p, void *ctx)
{
	const u64 own = capabilities_read();
	struct visit *v = ctx;
	bool is_held = own & CAPABILITY(p->number);
	int number = p->number;

	if ((p->reason & (PRIVILEGE_UPROBES | PRIVILEGE_PARANOID)) &&
	    !(p->reason & rights_of_kernel()))
		return;
	if (!is_held && p->stand_in >= 0 && own & CAPABILITY(p->stand_in)) {
		is_held = true;
		number = p->stand_in;
	}
	if (v->processes)
		json_array_append_new(v->processes,
				      json_pack("{ss ss sb ss ss?}", "process", p->name,
						"capability", capability_name(number), "kept",
						is_held, "for", p->purpose, "if", p->if_asked));
	else
		print_privilege(p, is_held, capability_name(number));
}

static void report_privileges(struct visit *v)
{
	if (!v->processes)
		puts("\nProcesses of a recording, the capabilities that each keeps, and their "
		     "use:");
	privileges_each(report_privilege, v);
	if (!v->processes)
		puts("none     sysflame-zygote, sysflame-worker: they parse files of processes");
}

static int examine(const char *agent_path, bool is_json)
{
	struct visit v = { .agent_path = agent_path, .can_record = true };
	struct utsname kernel;

	uname(&kernel);
	if (is_json) {
		v.features = json_array();
		v.jvms = json_array();
		v.processes = json_array();
	} else {
		printf("Linux %s %s, uid %d\n", kernel.release, kernel.machine, (int)geteuid());
		if (build_limitation())
			puts(build_limitation());
		putchar('\n');
	}
	features_each(report_feature, &v);
	report_agent(&v);
	struct remote *remote = remote_alone();
	facts_provide();
	report_jvms(&v);
	remote_close(remote);
	report_privileges(&v);
	if (is_json) {
		json_t *all =
			json_pack("{ss ss si sb so so so}", "kernel", kernel.release, "machine",
				  kernel.machine, "uid", (int)geteuid(), "can_record", v.can_record,
				  "features", v.features, "processes", v.processes, "jvms", v.jvms);
		if (build_limitation())
			json_object_set_new(all, "limitation", json_string(build_limitation()));
		json_dumpf(all, stdout, JSON_INDENT(1));
		json_decref(all);
		putchar('\n');
	} else {
		printf("\n%s\n", v.can_record ? "sysflame record can work here."
					      : "sysflame record cannot work here.");
	}
	return output_finish() || !v.can_record ? EXIT_FAILED : 0;
}

int doctor_main(int argc, char **argv)
{
	const char *agent_path = NULL;
	bool json = false, help = false;
	const struct opt opts[] = {
		{ 0, "json", OPT_BOOL, &json, NULL, "print JSON" },
		{ 0, "agent-path", OPT_STRING, &agent_path, "FILE", "path of libjvmmap.so" },
		{ 'h', "help", OPT_BOOL, &help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (help) {
		puts("usage: sysflame doctor [OPTION..]\n\n"
		     "Prints what the kernel, the capabilities and the JVMs allow, with the "
		     "remedy\n"
		     "for each missing item. Exit status 0 if recording can work, else 1.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (next < argc) {
		log_error("doctor: %s: unexpected", argv[next]);
		return EXIT_USAGE;
	}
	return examine(agent_path, json);
}
