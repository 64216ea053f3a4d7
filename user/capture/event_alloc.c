/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc: what Java code allocates, by class. With the agent the JVM picks points at random along
 * the bytes that a thread allocates, --alloc-interval apart in the mean, and tells of every object
 * that one falls into. Without it libjvm's own functions tell of each object that needed a new
 * buffer of its thread (TLAB), and stands for all of that buffer, and of each outside of one.
 * With --live the agent also tells when a sampled object has been collected.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "capture/event_kind.h"
#include "capture/inbox.h"
#include "capture/javaprobes.h"

/* In JDK 8 the same parameters since 8u262, and a KlassHandle is a Klass* in a register. */
static const struct java_teller tellers[] = {
	{ .function = "jvmmap_hook_alloc", .program = "alloc_hook", .is_hook = true },
	{ .function = "jvmmap_hook_gone", .program = "alloc_gone", .is_hook = true },
	{ .function = "AllocTracer::send_allocation_in_new_tlab",
	  .older = "_ZN11AllocTracer33send_allocation_in_new_tlab_eventE11KlassHandleP8HeapWordmmP6"
		   "Thread",
	  .program = "alloc_tlab" },
	{ .function = "AllocTracer::send_allocation_outside_tlab",
	  .older = "_ZN11AllocTracer34send_allocation_outside_tlab_eventE11KlassHandleP8HeapWordmP6"
		   "Thread",
	  .program = "alloc_outside" },
};
static const struct java_event event = { "alloc", tellers, ARRAY_SIZE(tellers) };

int parse_alloc(const char *text, const struct event_options *o, struct event *e, struct str *why)
{
	if (strcmp(text, "alloc"))
		return -ENOENT;
	e->type = o->live ? "alloc-live" : NULL;
	return 0;
}

void configure_alloc(const struct event *e, u32 number, const struct event_options *o,
		     struct knobs *knobs)
{
	knobs->alloc_event = number;
	knobs->alloc_interval = o->alloc_interval;
	knobs->alloc_is_live = o->live;
}

void hook_alloc(const struct event *e, const struct event_options *o, struct agent_hooks *hooks)
{
	hooks->alloc_interval = o->alloc_interval;
	hooks->refs = o->live;
	hooks->collect = o->collect;
}

bool is_alloc_held(const struct event_options *o, u64 *age_ns)
{
	return o->live;
}

static bool place(int fd, u32 number, pid_t pid, probe_links *out, void *sources)
{
	return javaprobes_place(sources, &event, javaprobes_who(sources), fd, pid, out);
}

static bool fall_back(int fd, u32 number, pid_t pid, probe_links *out, void *sources)
{
	return javaprobes_place(sources, &event, TELLERS_LIBJVM, fd, pid, out);
}

int open_alloc(struct sources *s, const struct event *e, u32 number)
{
	const struct event_options *o = sources_options(s);

	sources_describe(s, "allocations, one in %llu KiB%s",
			 (unsigned long long)o->alloc_interval >> 10,
			 o->live ? ", still reachable at the end" : "");
	sources_add_probes(s, number, probes_new(o->only_targets, place, s));
	/* libjvm does not tell what is reachable. */
	if (!o->live)
		sources_add_fallback(s, number, AGENT_HOOK_ALLOC, probes_new(true, fall_back, s));
	return 0;
}

/*
 * An object of so many bytes is hit with the probability 1 - exp(-size / interval). What libjvm
 * tells is weighed already.
 */
u64 weigh_alloc(const struct event_options *o, const struct sample *sample, u64 *count)
{
	u64 info = sample->nr_user ? sample_user_frames(sample)->info : 0;
	u64 interval = info & USER_FRAME_DETAIL_MASK;

	if (info >> USER_FRAME_KIND_SHIFT != USER_FRAME_CLASS || !interval || !sample->weight ||
	    sample->weight / 64 > interval)
		return sample->weight;
	double size = (double)sample->weight;
	return (u64)(size / -expm1(-size / (double)interval) + 0.5);
}
