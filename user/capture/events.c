/* SPDX-License-Identifier: Apache-2.0 */
/* What can be recorded: the table of the kinds of events. */
#include "capture/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "capture/event_kind.h"

/* Read from above: the first kind that knows a name has it. */
static const struct event_kind kinds[] = {
	{ "cpu",
	  "samples",
	  "CPU time: by cycles, by the clock where there is no cycle counter",
	  { "perf_sample" },
	  SLOT_PERF + 1,
	  false,
	  parse_cpu,
	  configure_cpu,
	  open_cpu,
	  NULL,
	  NULL,
	  NULL },
	{ "offcpu",
	  "ns",
	  "time off the CPU, whole waits of at least --offcpu-min, shorter sampled",
	  { "offcpu_begin", "offcpu_end", "offcpu_tasks" },
	  SLOT_SWITCH + 1,
	  true,
	  parse_offcpu,
	  configure_offcpu,
	  open_offcpu,
	  NULL,
	  NULL,
	  why_not_offcpu },
	{ "wall",
	  "ns",
	  "time of all threads, running or waiting alike, at -F Hz",
	  { "perf_sample", "offcpu_begin", "offcpu_end", "offcpu_tasks" },
	  SLOT_SWITCH + 1,
	  true,
	  parse_wall,
	  configure_wall,
	  open_wall,
	  NULL,
	  NULL,
	  why_not_offcpu },
	{ "nativemem",
	  "bytes",
	  "memory of malloc and mmap, sampled by bytes; --leaks: what is not freed",
	  { "memory_alloc", "memory_enter", "memory_return", "memory_free" },
	  NR_SLOTS,
	  false,
	  parse_nativemem,
	  configure_nativemem,
	  open_nativemem,
	  NULL,
	  NULL,
	  why_not_uprobe },
	{ "uprobe:PATH:SYMBOL[+OFFSET]",
	  "hits",
	  "a place in a program or library is reached",
	  { "uprobe_hit" },
	  NR_SLOTS,
	  false,
	  parse_uprobe,
	  configure_trace,
	  open_nothing,
	  start_uprobe,
	  NULL,
	  why_not_uprobe },
	{ "perf",
	  "events",
	  "what the processor or the kernel counts",
	  { "perf_sample" },
	  SLOT_PERF + 1,
	  false,
	  parse_perf,
	  configure_perf,
	  open_perf,
	  NULL,
	  each_perf,
	  NULL },
	{ "GROUP:NAME",
	  "hits",
	  "a tracepoint of the kernel",
	  { "trace_hit" },
	  SLOT_TRACE + 1,
	  false,
	  parse_tracepoint,
	  configure_trace,
	  open_nothing,
	  start_tracepoint,
	  each_tracepoint,
	  NULL },
};

static void event_fini(struct event *e)
{
	free(e->name);
	free(e->place);
	free(e->what);
}

static int parse_one(const char *text, const struct event_options *o, struct event *e,
		     struct str *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*e = (struct event){ .kind = &kinds[i], .unit = kinds[i].unit };
		int err = kinds[i].parse(text, o, e, why);
		if (!err) {
			e->name = xstrdup(text);
			return 0;
		}
		event_fini(e);
		if (why->len)
			return err;
	}
	str_addf(why, "-e %s: there is no such event; sysflame events lists them", text);
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

void events_fini(struct events *all)
{
	vec_each(e, &all->list)
		event_fini(e);
	vec_fini(&all->list);
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
