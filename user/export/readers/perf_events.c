/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value types of the events in the output of `perf script`. Modifiers such as `:u` and `:ppp`
 * are left out of a type's name unless the file has the event with several of them.
 */
#include "export/readers/perf_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

void perf_events_init(struct perf_events *e, struct profile *p)
{
	*e = (struct perf_events){ .p = p, .first = (u32)p->types.nr };
}

void perf_events_fini(struct perf_events *e)
{
	vec_each(t, &e->types)
		free(t->event);
	vec_fini(&e->types);
}

/* The length of the event's name without its modifier: 9 for "cpu-clock:ppp". */
static size_t len_without_modifier(const char *event)
{
	size_t len = strlen(event), at = len;

	while (at > 0 && strchr("ukhpPGHSDIWe", event[at - 1]))
		at--;
	return at > 1 && at < len && event[at - 1] == ':' ? at - 1 : len;
}

/* The unit of the event's periods, as in record. */
static const char *unit_of(const char *event)
{
	static const struct {
		const char *event, *unit;
	} all[] = {
		{ "cpu-clock", "ns" },
		{ "task-clock", "ns" },
		{ "page-faults", "faults" },
		{ "faults", "faults" },
		{ "minor-faults", "faults" },
		{ "major-faults", "faults" },
		{ "alignment-faults", "faults" },
		{ "emulation-faults", "faults" },
		{ "context-switches", "switches" },
		{ "cs", "switches" },
		{ "cpu-migrations", "migrations" },
		{ "migrations", "migrations" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(event, all[i].event))
			return all[i].unit;
	if (!strncmp(event, "sched:sched_stat_", strlen("sched:sched_stat_")))
		return "ns"; /* these tracepoints count their delay */
	return strchr(event, ':') ? "hits" : "events";
}

static char *type_name(const char *event, size_t len, bool is_count)
{
	return xasprintf("%.*s%s", (int)len, event, is_count ? "-samples" : "");
}

static u32 add_type(struct perf_events *e, const struct perf_type *t)
{
	size_t len = len_without_modifier(t->event);
	auto_free char *base = xstrndup(t->event, len);
	auto_free char *name = type_name(t->event, strlen(t->event), t->is_count);
	const char *unit = t->has_period && !t->is_count ? unit_of(base) : "samples";

	vec_push(&e->types, *t);
	return profile_add_type(e->p, name, unit);
}

u32 perf_events_find(struct perf_events *e, const char *event, bool has_period, bool is_count)
{
	for (u32 i = 0; i < e->types.nr; i++) {
		const struct perf_type *t = &e->types.at[i];
		if (t->has_period == has_period && t->is_count == is_count &&
		    !strcmp(t->event, event))
			return e->first + i;
	}
	return add_type(e, &(struct perf_type){ xstrdup(event), has_period, is_count });
}

/* Whether the file has the event with another modifier, too. */
static bool has_other_modifier(const struct perf_events *e, const char *event, size_t len)
{
	vec_each(t, &e->types)
		if (strcmp(t->event, event) != 0 && len_without_modifier(t->event) == len &&
		    !strncmp(t->event, event, len))
			return true;
	return false;
}

/* Adds the weights of a type to an earlier one of the same name and unit if there is one. */
static int join_type(struct perf_events *e, u32 type, struct stack_adder *stacks, struct str *why)
{
	const struct value_type *t = &e->p->types.at[type];
	u32 earlier = profile_find_type(e->p, t->name, t->unit);

	if (earlier == type)
		return 0;
	for (size_t i = 0, nr = e->p->weights.nr; i < nr; i++) {
		const struct weight w = e->p->weights.at[i];
		int err = w.type == type
				  ? stack_add(stacks, w.node, w.labels, earlier, (s64)w.value, why)
				  : 0;
		if (err)
			return err;
	}
	profile_drop_type(e->p, type);
	return 0;
}

int perf_events_settle(struct perf_events *e, struct stack_adder *stacks, struct str *why)
{
	for (u32 i = 0; i < e->types.nr; i++) {
		const struct perf_type *t = &e->types.at[i];
		size_t len = len_without_modifier(t->event);
		char **name = &e->p->types.at[e->first + i].name;
		if (len == strlen(t->event) || has_other_modifier(e, t->event, len))
			continue;
		free(*name);
		*name = type_name(t->event, len, t->is_count);
	}
	for (u32 i = (u32)e->types.nr; i-- > 0;) {
		int err = join_type(e, e->first + i, stacks, why);
		if (err)
			return err;
	}
	return 0;
}
