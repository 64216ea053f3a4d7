/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the node by the rules of recorder.conf. */
#include "daemon/recorder/triggers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "daemon/recorder/trigger_value.h"

#define EVERY_NS  NS_PER_SEC
#define UNREAD_NS (30 * NS_PER_SEC) /* slices come every 10 s */
#define DAY_NS    (24 * 3600 * NS_PER_SEC)
#define SUBJECTS  512 /* of a rule: JVMs that it watches */

/* One thing that a rule watches: a JVM, a control group, or the node. */
struct subject {
	u64 key;
	struct trigger_counters last;
	u64 at_ns;    /* of `last` */
	u64 since_ns; /* since when the rule's condition holds; 0: it does not */
	u64 seen_ns;
	bool is_unread; /* there are no slices: at_ns advances without a value */
};

struct watched {
	struct trigger_rule rule;
	VEC(struct subject) subjects;
	u64 rests_until_ns, day_ns; /* end of the rest; begin of the quota's day */
	u32 nr_today;
};

struct triggers {
	struct node *node;
	VEC(struct watched) rules;
	u64 at_ns;
};

/* One look at one rule. */
struct look {
	struct triggers *t;
	struct watched *w;
	u64 now_ns, sampled, lost;
	struct outbox *out;
};

struct triggers *triggers_new(struct node *n)
{
	struct triggers *t = xcalloc(1, sizeof(*t));

	t->node = n;
	return t;
}

static void fini_rules(struct triggers *t)
{
	vec_each(w, &t->rules)
		vec_fini(&w->subjects);
	vec_fini(&t->rules);
}

void triggers_free(struct triggers *t)
{
	if (!t)
		return;
	fini_rules(t);
	free(t);
}

static bool has_same_condition(const struct trigger_rule *a, const struct trigger_rule *b)
{
	return a->what == b->what && a->where == b->where && a->limit == b->limit &&
	       !strcmp(a->where_text, b->where_text);
}

/* `old` had the same name. */
static void inherit(struct watched *w, struct watched *old)
{
	w->rests_until_ns = old->rests_until_ns;
	w->day_ns = old->day_ns;
	w->nr_today = old->nr_today;
	if (!has_same_condition(&w->rule, &old->rule))
		return;
	w->subjects = old->subjects;
	old->subjects = (typeof(old->subjects)){ 0 };
}

void triggers_use(struct triggers *t, const struct conf *c)
{
	struct triggers old = *t;

	t->rules = (typeof(t->rules)){ 0 };
	for (u32 i = 0; i < c->nr_triggers; i++) {
		struct watched w = { .rule = c->triggers[i] };
		vec_each(o, &old.rules)
			if (!strcmp(o->rule.name, w.rule.name))
				inherit(&w, o);
		vec_push(&t->rules, w);
	}
	fini_rules(&old);
}

static struct subject *find_subject(struct watched *w, u64 key)
{
	const struct subject new = { .key = key };

	vec_each(s, &w->subjects)
		if (s->key == key)
			return s;
	if (w->subjects.nr >= SUBJECTS)
		return NULL;
	vec_push(&w->subjects, new);
	return &w->subjects.at[w->subjects.nr - 1];
}

static void forget_subjects(struct watched *w, u64 now_ns)
{
	size_t kept = 0;

	vec_each(s, &w->subjects)
		if (s->seen_ns == now_ns)
			w->subjects.at[kept++] = *s;
	w->subjects.nr = kept;
}

static void fire(struct look *l, const struct trigger_target *target, double value)
{
	const struct trigger_rule *r = &l->w->rule;
	struct control_message m = { .kind = CONTROL_FIRED };
	auto_free char *why =
		xasprintf("%s %.4g %s, over %.4g for %u s, in %s", trigger_what_name(r->what),
			  value, trigger_what_unit(r->what), r->limit, r->for_s,
			  redaction_text(l->out->redaction, target->name));

	channel_text(m.fired.name, sizeof(m.fired.name), r->name);
	channel_text(m.fired.why, sizeof(m.fired.why), why);
	channel_text(m.fired.events, sizeof(m.fired.events), r->events);
	channel_text(m.fired.target_text, sizeof(m.fired.target_text), target->text);
	channel_text(m.fired.container, sizeof(m.fired.container), target->container);
	m.fired.target = target->kind;
	m.fired.duration_s = r->record_s;
	m.fired.before_s = r->before_s;
	outbox_add(l->out, &m, -1);
	l->w->rests_until_ns = l->now_ns + r->cooldown_s * NS_PER_SEC;
	l->w->nr_today++;
	log_info("trigger %s: %s", r->name, why);
}

/* Whether the rule may fire now. */
static bool may_fire(struct look *l)
{
	struct watched *w = l->w;

	if (l->now_ns - w->day_ns >= DAY_NS || !w->day_ns) {
		w->day_ns = l->now_ns;
		w->nr_today = 0;
	}
	return l->now_ns >= w->rests_until_ns && w->nr_today < w->rule.quota;
}

/* Skips a time without slices, in which it is unknown whether the rule holds. */
static void wait_for_news(struct subject *s, u64 now_ns)
{
	s->is_unread |= now_ns - s->at_ns > UNREAD_NS;
	if (!s->is_unread)
		return;
	s->at_ns = now_ns;
	s->since_ns = 0;
}

/* Judges a subject by its present `counters`. */
static void judge(struct look *l, const struct trigger_target *target,
		  const struct trigger_counters *counters)
{
	struct subject *s = find_subject(l->w, target->key);
	double value = 0;

	if (!s)
		return;
	s->seen_ns = l->now_ns;
	if (s->at_ns && trigger_waits(l->w->rule.what, &s->last, counters)) {
		wait_for_news(s, l->now_ns);
		return;
	}
	s->is_unread = false;
	bool is_over =
		s->at_ns &&
		trigger_value(l->w->rule.what, &s->last, counters, l->now_ns - s->at_ns, &value) &&
		value > l->w->rule.limit;
	u64 began_ns = s->at_ns;
	s->last = *counters;
	s->at_ns = l->now_ns;
	if (!is_over) {
		s->since_ns = 0;
		return;
	}
	s->since_ns = s->since_ns ?: began_ns;
	if (l->now_ns - s->since_ns < l->w->rule.for_s * NS_PER_SEC || !may_fire(l))
		return;
	s->since_ns = 0;
	fire(l, target, value);
}

static void look_at_jvm(struct process *p, void *ctx)
{
	struct look *l = ctx;
	const struct trigger_rule *r = &l->w->rule;
	const struct container *c = node_container(l->t->node, p);
	struct trigger_counters counters = { 0 };
	struct trigger_target target = {
		.kind = CONTROL_TARGET_PID,
		.key = process_id_hash(p->id),
		.container = c && r->where == TRIGGER_JVM ? c->id : "",
	};

	if (r->where == TRIGGER_CONTAINER && (!c || !container_matches(c, r->where_text)))
		return;
	auto_free char *text = xasprintf("%d", (int)p->id.pid);
	auto_free char *name = xasprintf("%s-%d", p->comm, (int)p->id.pid);
	target.text = text;
	target.name = name;
	if (!trigger_read_jvm(l->t->node, p, r->what, &counters))
		judge(l, &target, &counters);
}

/* The group of the container is that of any process in it. */
static void look_at_group(struct look *l)
{
	const struct trigger_rule *r = &l->w->rule;
	struct trigger_counters counters = { 0 };
	struct trigger_target target = { .container = "", .text = r->where_text };
	auto_free char *name = NULL;

	if (r->where == TRIGGER_NODE) {
		target.kind = CONTROL_TARGET_NODE;
		name = xstrdup("the node");
	} else {
		bool is_container = r->where == TRIGGER_CONTAINER;
		target.kind = is_container ? CONTROL_TARGET_CONTAINER : CONTROL_TARGET_CGROUP;
		target.container = is_container ? r->where_text : "";
		name = xasprintf("%s %s", is_container ? "container" : "control group",
				 r->where_text);
	}
	target.name = name;
	counters.samples = l->sampled;
	counters.lost = l->lost;
	if (!trigger_read_group(l->t->node, r, &counters))
		judge(l, &target, &counters);
}

void triggers_tick(struct triggers *t, u64 now_ns, u64 sampled, u64 lost, struct outbox *out)
{
	if (now_ns - t->at_ns < EVERY_NS)
		return;
	t->at_ns = now_ns;
	vec_each(w, &t->rules) {
		struct look l = { t, w, now_ns, sampled, lost, out };
		if (w->rule.where == TRIGGER_JVM)
			node_each_jvm(t->node, look_at_jvm, &l);
		else
			look_at_group(&l);
		forget_subjects(w, now_ns);
	}
}
