/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc: allocations of Java code, by class. With the agent the JVM lays sampling points at random
 * along the bytes that a thread allocates, --alloc-interval apart in the mean. It reports every
 * object that one falls into. Without the agent libjvm's own functions report each object outside a
 * TLAB (the thread's buffer), and each that needed a new TLAB. The latter stands for the whole
 * TLAB. With --live the agent also reports when a sampled object was collected.
 * Part of capture/events/event_kind.h.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "capture/events/event_kind.h"
#include "capture/events/javaprobes.h"
#include "capture/unwind/sample_stack.h"

/* JDK 8 has the same parameters since 8u262; a KlassHandle is a Klass* in a register. */
static const struct java_probe probes[] = {
	{ .function = "jvmmap_hook_alloc",
	  .program = PROGRAM_JAVA_EVENT,
	  .call = JAVA_ALLOC,
	  .is_hook = true },
	{ .function = "jvmmap_hook_gone", .program = PROGRAM_ALLOC_GONE, .is_hook = true },
	{ .function = "AllocTracer::send_allocation_in_new_tlab",
	  .older = "_ZN11AllocTracer33send_allocation_in_new_tlab_eventE11KlassHandleP8HeapWordmmP6"
		   "Thread",
	  .program = PROGRAM_JAVA_EVENT,
	  .call = JAVA_TLAB },
	{ .function = "AllocTracer::send_allocation_outside_tlab",
	  .older = "_ZN11AllocTracer34send_allocation_outside_tlab_eventE11KlassHandleP8HeapWordmP6"
		   "Thread",
	  .program = PROGRAM_JAVA_EVENT,
	  .call = JAVA_OUTSIDE_TLAB },
};
static const struct java_placing placing = JAVA_PLACING("alloc", probes, JAVA_PROBED_FIRST);
static const struct java_placing falling_back = JAVA_PLACING("alloc", probes, JAVA_PROBED_LIBJVM);

static int parse_alloc(const char *text, const struct event_options *o, struct event *e,
		       struct str *why)
{
	if (strcmp(text, "alloc"))
		return -ENOENT;
	e->type = o->live ? "alloc-live" : NULL;
	return 0;
}

static void configure_alloc(const struct event *e, u32 number, const struct event_options *o,
			    struct knobs *knobs)
{
	knobs->alloc_event = number;
	knobs->alloc_interval = o->alloc_interval;
	knobs->alloc_is_live = o->live;
}

static void hook_alloc(const struct event *e, const struct event_options *o,
		       struct agent_hooks *hooks)
{
	hooks->alloc_interval = o->alloc_interval;
	hooks->refs = o->live;
	hooks->collect = o->collect;
}

static bool is_alloc_held(const struct event_options *o, u64 *age_ns)
{
	return o->live;
}

static int open_alloc(struct sources *s, const struct event *e, u32 number)
{
	const struct event_options *o = sources_options(s);

	sources_describe(s, "allocations, one in %llu KiB%s",
			 (unsigned long long)o->alloc_interval >> 10,
			 o->live ? ", still reachable at the end" : "");
	sources_add_probes(s, number, javaprobes_new(s, &placing));
	/* libjvm does not report which objects are reachable. */
	if (!o->live)
		sources_add_fallback(s, number, AGENT_HOOK_ALLOC, javaprobes_new(s, &falling_back));
	return 0;
}

/*
 * The JVM samples an object of `size` bytes with the probability 1 - exp(-size / interval). While
 * there are too many, the BPF program keeps an object of less than unit_bytes with the probability
 * max(size, interval) / unit_bytes. The weight that libjvm reports needs no correction.
 */
static u64 weigh_alloc(const struct event_options *o, const struct sample *sample, u64 *count)
{
	u64 info = sample->nr_user ? sample_user_frames(sample)->info : 0;
	u64 interval = info & USER_FRAME_DETAIL_MASK;

	if (info >> USER_FRAME_KIND_SHIFT != USER_FRAME_CLASS || !interval || !sample->weight)
		return sample->weight;
	double size = (double)sample->weight;
	double least = (double)(sample->weight > interval ? sample->weight : interval);
	double chance = sample->weight / 64 > interval ? 1 : -expm1(-size / (double)interval);
	if (sample->unit_bytes > least)
		chance *= least / (double)sample->unit_bytes;
	return chance < 1 ? (u64)(size / chance + 0.5) : sample->weight;
}

const struct event_kind event_kind_alloc = {
	.name = "alloc",
	.unit = "bytes",
	.help = "allocations of Java code, by class; one sample in --alloc-interval bytes",
	.programs = PROGRAM_BIT(JAVA_EVENT) | PROGRAM_BIT(ALLOC_GONE),
	.nr_slots = NR_SLOTS,
	.sparser = "larger --alloc-interval",
	.parse = parse_alloc,
	.configure = configure_alloc,
	.open = open_alloc,
	.why_not = why_not_uprobe,
	.weigh = weigh_alloc,
	.is_held = is_alloc_held,
	.hook = hook_alloc,
};
