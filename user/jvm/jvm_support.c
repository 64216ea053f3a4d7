/* SPDX-License-Identifier: Apache-2.0 */
/* The data that sysflame can get from a JVM, with the agent and without. */
#include "jvm/jvm_support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "jvm/attach/readiness.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/hotspot/legibility.h"
#include "jvm/process/main_class.h"
#include "jvm/process/process_root.h"

#define SHOWN_MAX       300
#define VIRTUAL_MOST    1000 /* threads looked at */
#define VIRTUAL_TRIES   200  /* while its classes are looked for */
#define LIMITATIONS_MAX 64

struct flag {
	const char *name, *mark;
	bool matters; /* the value of the flag for which the mark is shown */
};

static const struct flag flags[NR_SURVEY_FLAGS] = {
	[JVM_SUPPORT_FRAME_POINTERS] = { "PreserveFramePointer", "FP", true },
	[JVM_SUPPORT_DEBUG_NONSAFEPOINT] = { "DebugNonSafepoints", "DNS", true },
	[JVM_SUPPORT_NO_ATTACH] = { "DisableAttachMechanism", "no-attach", true },
	[JVM_SUPPORT_DYNAMIC_AGENTS] = { "EnableDynamicAgentLoading", "no-agents", false },
};

static char *clean(const char *text)
{
	struct str out = { 0 };

	utf8_clean(&out, text, SHOWN_MAX);
	return str_take(&out);
}

/*
 * JDK 8 reports the VM's own number as its release ("25.302-b08"). The JDK's is in the text for
 * people: "... for linux-amd64 JRE (1.8.0_302-b08), ...".
 */
static char *version_of(const struct hotspot_info *info)
{
	const char *jre = strstr(info->vm, "JRE (");
	char text[64];

	if (info->jdk > 8 && *info->release)
		copy_text(text, sizeof(text), info->release);
	else if (info->jdk == 8 && jre)
		copy_text(text, sizeof(text), jre + strlen("JRE ("));
	else if (info->jdk)
		snprintf(text, sizeof(text), "%d", info->jdk);
	else
		copy_text(text, sizeof(text), "?");
	text[strcspn(text, "+-) ")] = '\0';
	return clean(text);
}

static void read_gaps(const struct hotspot *h, struct jvm_support *s)
{
	const char *what, *why;

	for (size_t i = 0; i < LIMITATIONS_MAX && hotspot_limitation(h, i, &what, &why); i++) {
		auto_free char *gap = xasprintf("%s: %s", what, why);
		vec_push(&s->gaps, clean(gap));
	}
}

/* Estimates from some of them, if there are many. */
static void read_virtual(struct hotspot *h, struct jvm_support *s)
{
	struct virtual_threads *v = virtual_threads_new();
	const struct virtual_look look = { .most = VIRTUAL_MOST };
	struct virtual_counts c;
	int err = -EAGAIN;

	for (int i = 0; err == -EAGAIN && i < VIRTUAL_TRIES; i++)
		err = virtual_threads_look(v, h, &look, &c);
	if (!err)
		s->virtual = virtual_counts_total(&c);
	if (virtual_threads_why_not(v))
		vec_push(&s->gaps, xasprintf("virtual threads: %s", virtual_threads_why_not(v)));
	virtual_threads_free(v);
}

static void read_vm(const struct javaproc *j, struct hotspot *h, struct jvm_support *s)
{
	char command[MAIN_CLASS_COMMAND_MAX];
	struct hotspot_info info;

	if (!hotspot_java_command(h, command, sizeof(command)))
		s->main = javaproc_main(j->id, command);
	hotspot_info(h, &info);
	if (!strcmp(s->jdk, "?")) {
		free(s->jdk);
		s->jdk = version_of(&info);
	}
	s->vm = clean(info.vm);
	s->collector = clean(info.collector);
	for (int i = 0; i < NR_SURVEY_FLAGS; i++)
		s->is_flag_known[i] = !hotspot_flag(h, flags[i].name, &s->flags[i]);
	read_gaps(h, s);
	read_virtual(h, s);
}

static void look_inside(const struct javaproc *j, struct jvm_support *s)
{
	auto_str struct str why = { 0 };
	struct hotspot *h = NULL;
	int err;

	if (j->vm != VM_HOTSPOT) {
		s->no_names = xstrdup("it runs OpenJ9, which is not supported");
		return;
	}
	err = hotspot_open(j->id, &h);
	if (legibility_of(j->id, err, h, &why) != LEGIBLE)
		s->no_names = clean(why.at);
	if (err)
		return;
	read_vm(j, h, s);
	str_clear(&why);
	if (readiness_of_vm(h, &why) != READY)
		s->no_agent = clean(why.at);
	hotspot_free(h);
}

/* Whether a signal would start its attach listener. */
static enum readiness ask_handler(const struct process_root *t, struct str *why)
{
	struct mappings code = { 0 };
	struct process_facts facts;
	enum readiness r = readiness_for_signal(t, false, why);

	if (r != READY || mappings_read(t->status.pid, true, &code))
		return r;
	auto_close int fd = task_facts_open();
	task_facts_read(fd, t->status.pid, &facts);
	/* This command may have fewer rights than a recording. */
	if (facts.are_known)
		r = readiness_of_handler(&facts, &code, why);
	if (r == READY && !task_facts_allow(&facts, t->status.pid, true, why))
		r = NEVER;
	mappings_fini(&code);
	return r;
}

/* Whether the JVM's seccomp filters allow an attach by its listener. */
static enum readiness ask_filter(const struct process_root *t, struct str *why)
{
	struct process_facts facts;
	auto_close int fd = task_facts_open();

	task_facts_read(fd, t->status.pid, &facts);
	return task_facts_allow(&facts, t->status.pid, false, why) ? READY : NEVER;
}

/* Whether its attach listener runs or can be started. */
static enum readiness ask_listener(const struct process_root *t, struct str *why)
{
	struct stat st;
	char name[32];

	snprintf(name, sizeof(name), ".java_pid%d", t->status.nspid);
	if (fstatat(t->tmp_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return ask_handler(t, why);
	if (process_root_is_blocked(t, st.st_uid, st.st_mode)) {
		str_addf(why, "the %s in its /tmp belongs to another user; remove it", name);
		return NEVER;
	}
	return S_ISSOCK(st.st_mode) ? ask_filter(t, why) : ask_handler(t, why);
}

static enum readiness ask(const struct process_root *t, struct str *why)
{
	struct refusal before;
	enum readiness r = readiness_to_attach(t, why);

	if (r == READY)
		r = ask_listener(t, why);
	if (r == READY && refusal_read(proc_status_id(&t->status), &before) &&
	    refusal_holds(&before, why))
		return NOT_YET;
	return r;
}

/* s->no_agent is already set if the VM itself forbids agents. */
static void ask_for_agent(const struct javaproc *j, struct jvm_support *s)
{
	auto_str struct str why = { 0 };
	struct process_root t;
	int err = process_root_open(j->id, &t);

	if (err && s->no_agent)
		return;
	if (err) {
		process_root_explain(j->id.pid, err, &why);
		s->no_agent = clean(why.at);
		return;
	}
	s->inner_pid = t.status.nr_nspid > 1 ? t.status.nspid : 0;
	enum readiness r = s->no_agent ? NEVER : ask(&t, &why);
	if (r != READY && !s->no_agent)
		s->no_agent = clean(why.at);
	s->may_be_later = r == NOT_YET;
	process_root_close(&t);
}

int jvm_support_read(const struct javaproc *j, struct jvm_support *out)
{
	*out = (struct jvm_support){ .jdk = xstrdup(j->jdk) };
	cgroup_container(j->id.pid, out->container);
	look_inside(j, out);
	out->main = out->main ?: xstrdup(j->main);
	out->vm = out->vm ?: xstrdup("");
	out->collector = out->collector ?: xstrdup("");
	ask_for_agent(j, out);

	struct proc_status now;
	if (!proc_status_read(j->id.pid, &now) && process_id_same(proc_status_id(&now), j->id) &&
	    now.state != 'Z')
		return 0;
	jvm_support_fini(out);
	return -ESRCH;
}

void jvm_support_fini(struct jvm_support *s)
{
	vec_each(gap, &s->gaps)
		free(*gap);
	vec_fini(&s->gaps);
	free(s->jdk);
	free(s->main);
	free(s->vm);
	free(s->collector);
	free(s->no_names);
	free(s->no_agent);
}

const char *jvm_support_flag_name(enum jvm_support_flag flag)
{
	return flags[flag].name;
}

const char *jvm_support_flag_mark(const struct jvm_support *s, enum jvm_support_flag flag)
{
	return s->is_flag_known[flag] && s->flags[flag] == flags[flag].matters ? flags[flag].mark
									       : NULL;
}

const char *jvm_support_phrase(const struct jvm_support *s)
{
	if (!s->no_names)
		return s->no_agent ? (s->may_be_later ? "names from outside; no agent yet"
						      : "names from outside; no agent")
				   : "names from outside; agent possible";
	return s->no_agent ? "no Java names" : "names by the agent only";
}
