/* SPDX-License-Identifier: Apache-2.0 */
/* What can be had of a JVM, with the agent and without. */
#include "jvm/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/utf8.h"
#include "jvm/hotspot.h"
#include "jvm/readiness.h"
#include "jvm/refusals.h"
#include "jvm/target.h"

#define SHOWN_MAX 300
#define GAPS_MAX  64

struct flag {
	const char *name, *mark;
	bool matters; /* the value that shows as the mark */
};

static const struct flag flags[NR_SURVEY_FLAGS] = {
	[SURVEY_FRAME_POINTERS] = { "PreserveFramePointer", "FP", true },
	[SURVEY_DEBUG_NONSAFEPOINT] = { "DebugNonSafepoints", "DNS", true },
	[SURVEY_NO_ATTACH] = { "DisableAttachMechanism", "no-attach", true },
	[SURVEY_DYNAMIC_AGENTS] = { "EnableDynamicAgentLoading", "no-agents", false },
};

static char *clean(const char *text)
{
	struct str out = { 0 };

	utf8_clean(&out, text, SHOWN_MAX);
	return str_take(&out);
}

/*
 * JDK 8 calls its release by the VM's own number ("25.302-b08"); its text for people has the JDK's:
 * "... for linux-amd64 JRE (1.8.0_302-b08), ...".
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

static void read_gaps(const struct hotspot *h, struct survey *s)
{
	const char *what, *why;

	for (size_t i = 0; i < GAPS_MAX && hotspot_gap(h, i, &what, &why); i++) {
		auto_free char *gap = xasprintf("%s: %s", what, why);
		vec_push(&s->gaps, clean(gap));
		if (!s->no_names &&
		    (!strcmp(what, "any Java frame") || !strcmp(what, "method names")))
			s->no_names = clean(gap);
	}
}

static void read_vm(const struct hotspot *h, struct survey *s)
{
	struct hotspot_info info;

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
}

static const char *explain(int err)
{
	switch (err) {
	case -EAGAIN:
		return "it is still starting";
	case -EPERM:
	case -EACCES:
		return "its memory may not be read; run sysflame as root or with CAP_SYS_PTRACE";
	case -ENOEXEC:
	case -ENOENT:
		return "its libjvm is not HotSpot as we know it";
	case -ESRCH:
		return "it has ended";
	default:
		return "its memory cannot be read";
	}
}

static void look_inside(const struct javaproc *j, struct survey *s)
{
	auto_str struct str why = { 0 };
	struct hotspot *h;
	int err;

	if (j->vm != VM_HOTSPOT) {
		s->no_names = xstrdup("it runs OpenJ9, which is not supported");
		return;
	}
	err = hotspot_open(j->pid, j->start_ns, &h);
	if (err) {
		s->no_names = xstrdup(explain(err));
		return;
	}
	read_vm(h, s);
	if (readiness_of_vm(h, &why) != READY)
		s->no_agent = clean(why.at);
	hotspot_free(h);
}

/* Whether its listener stands or can be woken. */
static enum readiness ask_listener(const struct target *t, struct str *why)
{
	struct stat st;
	char name[32];

	snprintf(name, sizeof(name), ".java_pid%d", t->status.nspid);
	if (fstatat(t->tmp_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISSOCK(st.st_mode))
		return readiness_for_signal(t, why);
	if (st.st_uid == t->status.euid || st.st_uid == 0)
		return READY;
	str_addf(why, "the %s in its /tmp is another user's; remove it", name);
	return NEVER;
}

static enum readiness ask(const struct target *t, struct str *why)
{
	struct refusal before;
	enum readiness r = readiness_to_attach(t, why);

	if (r == READY)
		r = ask_listener(t, why);
	if (r == READY && refusal_read(t->status.pid, t->status.start_ns, &before) &&
	    refusal_holds(&before, why))
		return NOT_YET;
	return r;
}

/* s->no_agent is set if the VM itself has said no. */
static void ask_for_agent(const struct javaproc *j, struct survey *s)
{
	auto_str struct str why = { 0 };
	struct target t;
	int err = target_open(j->pid, j->start_ns, &t);

	if (err && s->no_agent)
		return;
	if (err) {
		s->no_agent =
			xstrdup(err == -ENOENT || err == -ENOTDIR ? "it has no /tmp; give it one"
								  : explain(err));
		return;
	}
	s->inner_pid = t.status.nr_nspid > 1 ? t.status.nspid : 0;
	enum readiness r = s->no_agent ? NEVER : ask(&t, &why);
	if (r != READY && !s->no_agent)
		s->no_agent = clean(why.at);
	s->may_be_later = r == NOT_YET;
	target_close(&t);
}

int survey_read(const struct javaproc *j, struct survey *out)
{
	*out = (struct survey){ .jdk = xstrdup(j->jdk) };
	cgroup_container(j->pid, out->container);
	look_inside(j, out);
	out->vm = out->vm ?: xstrdup("");
	out->collector = out->collector ?: xstrdup("");
	ask_for_agent(j, out);

	struct proc_status now;
	if (!proc_status_read(j->pid, &now) && proc_same_start(now.start_ns, j->start_ns) &&
	    now.state != 'Z')
		return 0;
	survey_fini(out);
	return -ESRCH;
}

void survey_fini(struct survey *s)
{
	vec_each(gap, &s->gaps)
		free(*gap);
	vec_fini(&s->gaps);
	free(s->jdk);
	free(s->vm);
	free(s->collector);
	free(s->no_names);
	free(s->no_agent);
}

const char *survey_flag_name(enum survey_flag flag)
{
	return flags[flag].name;
}

const char *survey_flag_mark(const struct survey *s, enum survey_flag flag)
{
	return s->is_flag_known[flag] && s->flags[flag] == flags[flag].matters ? flags[flag].mark
									       : NULL;
}

const char *survey_phrase(const struct survey *s)
{
	if (!s->no_names)
		return s->no_agent ? (s->may_be_later ? "names from outside; no agent yet"
						      : "names from outside; no agent")
				   : "names from outside; agent possible";
	return s->no_agent ? "no Java names" : "names by the agent only";
}
