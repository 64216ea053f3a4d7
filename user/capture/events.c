/* SPDX-License-Identifier: Apache-2.0 */
/* What can be recorded: the table of the kinds of events. */
#include "capture/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/near.h"
#include "capture/event_kind.h"

/* Read from above: the first kind that knows a name has it. */
static const struct event_kind kinds[] = {
	{ .name = "cpu",
	  .unit = "samples",
	  .help = "CPU time: by cycles, by the clock where there is no cycle counter",
	  .programs = { "perf_sample" },
	  .nr_slots = SLOT_PERF + 1,
	  .has_period = true,
	  .parse = parse_cpu,
	  .configure = configure_cpu,
	  .open = open_cpu },
	{ .name = "offcpu",
	  .unit = "ns",
	  .help = "time off the CPU, whole waits of at least --offcpu-min, shorter sampled",
	  .programs = { "offcpu_begin", "offcpu_end", "offcpu_back", "offcpu_tasks" },
	  .nr_slots = SLOT_SWITCH + 1,
	  .by_state = true,
	  .configure = configure_offcpu,
	  .open = open_offcpu,
	  .why_not = why_not_offcpu },
	{ .name = "wall",
	  .unit = "ns",
	  .help = "time of all threads, running or waiting alike, at -F Hz",
	  .programs = { "perf_sample", "offcpu_begin", "offcpu_end", "offcpu_back",
			"offcpu_tasks" },
	  .nr_slots = SLOT_SWITCH + 1,
	  .by_state = true,
	  .configure = configure_wall,
	  .open = open_wall,
	  .why_not = why_not_offcpu },
	{ .name = "alloc",
	  .unit = "bytes",
	  .help = "what Java code allocates, by class; one sample in --alloc-interval bytes",
	  .programs = { "alloc_hook", "alloc_gone", "alloc_tlab", "alloc_outside" },
	  .nr_slots = NR_SLOTS,
	  .parse = parse_alloc,
	  .configure = configure_alloc,
	  .open = open_alloc,
	  .why_not = why_not_uprobe,
	  .weigh = weigh_alloc,
	  .is_held = is_alloc_held,
	  .hook = hook_alloc },
	{ .name = "lock",
	  .unit = "ns",
	  .help = "how long Java code waits for monitors and locks of java.util.concurrent",
	  .programs = { "lock_hook", "offcpu_begin", "offcpu_end", "offcpu_back", "offcpu_tasks" },
	  .nr_slots = NR_SLOTS,
	  .configure = configure_lock,
	  .open = open_lock,
	  .why_not = why_not_offcpu,
	  .count_unit = "waits",
	  .weigh = weigh_lock,
	  .keep = keep_lock,
	  .hook = hook_lock },
	{ .name = "nativelock",
	  .unit = "ns",
	  .help = "how long threads wait for locks of C, C++, Rust, .., by futexes; --lock-min",
	  .programs = { "offcpu_begin", "offcpu_end", "offcpu_back", "offcpu_tasks" },
	  .nr_slots = SLOT_SWITCH + 1,
	  .configure = configure_nativelock,
	  .open = open_nativelock,
	  .keep = keep_nativelock,
	  .why_not = why_not_offcpu },
	{ .name = "nativemem",
	  .unit = "bytes",
	  .help = "memory of malloc and mmap, sampled by bytes; --leaks: what is not freed",
	  .programs = { "memory_alloc", "memory_enter", "memory_return", "memory_free" },
	  .nr_slots = NR_SLOTS,
	  .configure = configure_nativemem,
	  .open = open_nativemem,
	  .is_held = is_nativemem_held,
	  .is_double = is_nativemem_double,
	  .why_not = why_not_uprobe },
	{ .name = "java:CLASS.METHOD",
	  .unit = "hits",
	  .help = "a Java method is called",
	  .programs = { "method_hook" },
	  .nr_slots = NR_SLOTS,
	  .has_period = true,
	  .parse = parse_method,
	  .configure = configure_method,
	  .open = open_method,
	  .why_not = why_not_uprobe,
	  .keep = keep_method,
	  .hook = hook_method },
	{ .name = "uprobe:PATH:SYMBOL[+OFFSET]",
	  .unit = "hits",
	  .help = "a place in a program or library is reached",
	  .programs = { "uprobe_hit" },
	  .nr_slots = NR_SLOTS,
	  .has_period = true,
	  .parse = parse_uprobe,
	  .configure = configure_trace,
	  .open = open_nothing,
	  .start = start_uprobe,
	  .why_not = why_not_uprobe },
	{ .name = "usdt:PATH:PROVIDER:NAME",
	  .unit = "hits",
	  .help = "a probe that a program or library was built with is reached",
	  .programs = { "uprobe_hit" },
	  .nr_slots = NR_SLOTS,
	  .has_period = true,
	  .parse = parse_usdt,
	  .configure = configure_trace,
	  .open = open_nothing,
	  .start = start_usdt,
	  .why_not = why_not_uprobe },
	{ .name = "perf",
	  .unit = "events",
	  .help = "what the processor or the kernel counts",
	  .programs = { "perf_sample" },
	  .nr_slots = SLOT_PERF + 1,
	  .has_period = true,
	  .parse = parse_perf,
	  .configure = configure_perf,
	  .open = open_perf,
	  .each = each_perf },
	{ .name = "GROUP:NAME",
	  .unit = "hits",
	  .help = "a tracepoint of the kernel",
	  .programs = { "trace_hit" },
	  .nr_slots = SLOT_TRACE + 1,
	  .has_period = true,
	  .parse = parse_tracepoint,
	  .configure = configure_trace,
	  .open = open_nothing,
	  .start = start_tracepoint,
	  .each = each_tracepoint },
};

static void event_fini(struct event *e)
{
	free(e->name);
	free(e->place);
	free(e->what);
}

/* An event of that kind that this node can record. */
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
		if (!strpbrk(kinds[i].name, ":"))
			near_consider(&near, kinds[i].name);
	for (size_t i = 0; i < near.max && near.names[i]; i++)
		str_addf(why, "%s%s", i ? ", " : "; near names: ", near.names[i]);
	near_fini(&near);
}

static bool is_weighed(const struct event *e, const struct event_options *o)
{
	bool is_each_hit = !strcmp(e->unit, "hits") && o->period <= 1;

	return strcmp(e->unit, "samples") && !is_each_hit;
}

static int parse_one(const char *text, const struct event_options *o, struct event *e,
		     struct str *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*e = (struct event){ .kind = &kinds[i], .unit = kinds[i].unit };
		int err = parse_as(&kinds[i], text, o, e, why);
		if (!err) {
			e->name = xstrdup(text);
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
		struct event e;
		int err = -EINVAL;
		if (!*name)
			str_addf(why, "-e '%s': an event's name is missing", text);
		else if (has(out, name))
			str_addf(why, "-e %s: %s stands there twice", text, name);
		else if (out->list.nr == ABI_EVENTS)
			str_addf(why, "-e: takes at most %d events", ABI_EVENTS);
		else
			err = parse_one(name, o, &e, why);
		if (err)
			return err;
		vec_push(&out->list, e);
	}
	return 0;
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

void events_each(bool all, events_tell_fn tell, void *ctx)
{
	for (const struct event_kind *k = kinds; k < kinds + ARRAY_SIZE(kinds); k++) {
		if (k->each) {
			k->each(k, all, tell, ctx);
			continue;
		}
		auto_free char *why_not = k->why_not ? k->why_not() : NULL;
		tell(k->name, k->unit, k->help, why_not, ctx);
	}
}
