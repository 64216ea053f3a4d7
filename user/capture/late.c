/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs whose agents began to report events within the recording's window. */
#include "capture/late.h"

#include "base/auto.h"
#include "capture/recording_state.h"

#define NOTES_MAX 20

struct late_visit {
	const struct recording *recording;
	const struct cut *cut;
	late_jvm_fn visit;
	void *ctx;
};

/* Adds a phrase for each effect of `hooks`, "and" before the last. */
static void add_effects(struct str *out, u32 hooks)
{
	static const struct {
		enum agent_hook hook;
		const char *text;
	} effects[] = {
		{ AGENT_HOOK_ALLOC, "alloc is counted" },
		{ AGENT_HOOK_METHOD, "calls of methods are counted" },
		{ AGENT_HOOK_LOCK, "monitors have a class" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(effects); i++) {
		if (!(hooks & effects[i].hook))
			continue;
		hooks &= ~(u32)effects[i].hook;
		str_addf(out, "%s%s", !out->len ? "" : hooks ? ", " : " and ", effects[i].text);
	}
}

static void visit_late(struct process_id id, u32 hooks, u64 report_ns, void *ctx)
{
	const struct late_visit *v = ctx;
	const struct process *p = processes_find(v->recording->node->processes, id);
	auto_str struct str effects = { 0 };

	if (report_ns >= v->cut->span.end_ns)
		return;
	add_effects(&effects, hooks);
	const struct late_jvm late = {
		.pid = id.pid,
		.comm = p ? p->comm : "java",
		.effects = effects.at,
		.since_ns = report_ns - v->cut->span.begin_ns,
	};
	v->visit(&late, v->ctx);
}

void cut_each_late(const struct recording *r, const struct cut *c, late_jvm_fn visit, void *ctx)
{
	struct late_visit v = { r, c, visit, ctx };

	agents_each_late(r->node->agents, &r->hooks, c->span.begin_ns, visit_late, &v);
}

struct noting {
	struct profile *profile;
	u32 nr;
};

static void note(const struct late_jvm *late, void *ctx)
{
	struct noting *n = ctx;

	if (n->nr++ >= NOTES_MAX)
		return;
	auto_free char *key = xasprintf("late-%d", (int)late->pid);
	auto_free char *text =
		xasprintf("ms after the begin the agent in %s-%d reported; %s from then on",
			  late->comm, (int)late->pid, late->effects);
	profile_note(n->profile, key, text, late->since_ns / NS_PER_MS);
}

void late_note(const struct recording *r, struct cut *c)
{
	struct noting n = { .profile = c->profile };

	cut_each_late(r, c, note, &n);
	if (n.nr > NOTES_MAX)
		profile_note(n.profile, "late", "more JVMs whose agents reported after the begin",
			     n.nr - NOTES_MAX);
}
