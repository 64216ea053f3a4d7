/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the kinds of events. */
#include "capture/events/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/near.h"
#include "capture/events/event_filter.h"
#include "capture/events/event_kind.h"

/* In order of precedence: the first kind that recognises a name takes it. */
static const struct event_kind *const kinds[] = {
	&event_kind_cpu,         &event_kind_offcpu,     &event_kind_wall,      &event_kind_alloc,
	&event_kind_lock,        &event_kind_nativelock, &event_kind_nativemem, &event_kind_method,
	&event_kind_method_time, &event_kind_uprobe,     &event_kind_usdt,      &event_kind_kprobe,
	&event_kind_perf,        &event_kind_tracepoint,
};

static void event_fini(struct event *e)
{
	free(e->name);
	free(e->place);
	free(e->what);
	free(e->places);
	event_filter_free(e->filter);
	*e = (struct event){ 0 };
}

/* Parses an event of that kind. Fails if this node cannot record it. */
static int parse_as(const struct event_kind *kind, const char *text, const struct event_options *o,
		    struct event *e, struct str *why)
{
	int err = kind->parse                ? kind->parse(text, o, e, why)
		  : strcmp(text, kind->name) ? -ENOENT
					     : 0;
	if (err || !kind->why_not)
		return err;
	auto_free char *why_not = kind->why_not();
	if (why_not)
		str_addf(why, "-e %s: %s", text, why_not);
	return why_not ? -ENOTSUP : 0;
}

static void suggest(const char *text, struct str *why)
{
	struct near near = { .wanted = text, .max = 3 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strpbrk(kinds[i]->name, ":"))
			near_consider(&near, kinds[i]->name);
	for (size_t i = 0; i < near.max && near.names[i]; i++)
		str_addf(why, "%s%s", i ? ", " : "; near names: ", near.names[i]);
	near_fini(&near);
}

static bool is_weighed(const struct event *e, const struct event_options *o)
{
	switch (e->kind->value) {
	case EVENT_VALUE_SAMPLE:
		return false;
	case EVENT_VALUE_HIT:
		return o->period > 1;
	default:
		return true;
	}
}

static int parse_one(const char *text, const struct event_options *o, struct event *e,
		     struct str *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*e = (struct event){ .kind = kinds[i], .unit = kinds[i]->unit };
		int err = parse_as(kinds[i], text, o, e, why);
		if (!err) {
			e->name = e->name ?: xstrdup(text);
			e->is_weighed = is_weighed(e, o);
			return 0;
		}
		event_fini(e);
		if (why->len)
			return err;
	}
	str_addf(why, "-e %s: there is no such event; sysflame events lists them", text);
	suggest(text, why);
	return -ENOENT;
}

static bool has(const struct events *all, const char *name)
{
	vec_each(e, &all->list)
		if (!strcmp(e->name, name))
			return true;
	return false;
}

int events_parse(const char *text, const struct event_options *o, struct events *out,
		 struct str *why)
{
	auto_free char *copy = xstrdup(text);

	for (char *rest = copy, *name; (name = strsep(&rest, ","));) {
		struct event e = { 0 };
		int err = -EINVAL;
		if (!*name)
			str_addf(why, "-e '%s': an event's name is missing", text);
		else if (out->list.nr == ABI_EVENTS)
			str_addf(why, "-e: takes at most %d events", ABI_EVENTS);
		else
			err = parse_one(name, o, &e, why);
		if (!err && has(out, e.name)) {
			str_addf(why, "-e %s: %s is listed twice", text, e.name);
			err = -EINVAL;
		}
		if (!err && e.kind->check)
			err = e.kind->check(out, &e, why);
		if (err) {
			event_fini(&e);
			return err;
		}
		vec_push(&out->list, e);
	}
	return 0;
}

int event_set_filter(struct event *e, const char *text, struct str *why)
{
	auto_str struct str reason = { 0 };

	if (!e->kind->filter)
		str_addf(&reason, "%s is no tracepoint, only these have arguments to filter by",
			 e->name);
	else if (e->filter)
		str_addf(&reason, "%s has a filter already; join both by &&", e->name);
	else if (!e->kind->filter(e, text, &reason))
		return 0;
	str_addf(why, "--filter '%s': %s", text, reason.at);
	return -EINVAL;
}

static bool is_counter(const struct event *e)
{
	return e->kind == &event_kind_perf &&
	       (e->perf_type != PERF_TYPE_SOFTWARE || e->perf_config != PERF_COUNT_SW_CPU_CLOCK);
}

bool events_may_be_declined(const struct events *all)
{
	vec_each(e, &all->list)
		if (is_counter(e) ||
		    e->kind->programs & (PROGRAM_BIT(TRACE_HIT) | PROGRAM_BIT(KPROBE_HIT)))
			return true;
	return false;
}

bool event_has_period(const struct event *e)
{
	return e->kind->has_period;
}

const char *event_count_unit(const struct event *e)
{
	return e->kind->count_unit;
}

void events_fini(struct events *all)
{
	vec_each(e, &all->list)
		event_fini(e);
	vec_fini(&all->list);
}

static void add_count(struct profile *profile, const char *type, const char *unit)
{
	auto_free char *name = xasprintf("%s-%s", type, unit);

	profile_add_type(profile, name, unit);
}

void events_add_types(const struct events *all, struct profile *profile, u32 types[ABI_EVENTS])
{
	for (size_t i = 0; i < all->list.nr; i++) {
		const struct event *e = &all->list.at[i];
		const char *type = e->type ?: e->name;
		types[i] = profile_add_type(profile, type, e->unit);
		if (e->is_weighed)
			add_count(profile, type, "samples");
		if (e->kind->count_unit)
			add_count(profile, type, e->kind->count_unit);
	}
}

void events_each(bool all, events_visit_fn tell, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct event_kind *k = kinds[i];
		if (k->each) {
			k->each(k, all, tell, ctx);
			continue;
		}
		auto_free char *why_not = k->why_not ? k->why_not() : NULL;
		tell(k->name, k->unit, k->help, why_not, ctx);
	}
}
