/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock: waits of Java code for locks. The agent reports waits for monitors, with the object's
 * class. Other waits are found as waits of a JVM's thread for a futex: for locks of
 * java.util.concurrent, and for monitors without an agent. The stack shows the reason for the wait.
 * Part of capture/events/event_kind.h.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "capture/events/event_kind.h"
#include "capture/events/javaprobes.h"
#include "capture/stacks/lockstack.h"
#include "capture/unwind/sample_stack.h"
#include "jvm/hotspot/virtual_threads.h"

static const struct java_probe probes[] = {
	{ .function = "jvmmap_hook_lock",
	  .program = PROGRAM_JAVA_EVENT,
	  .call = JAVA_LOCK,
	  .is_hook = true },
	{ .function = "ObjectMonitor::enter" },
};
static const struct java_placing placing = JAVA_PLACING("lock", probes, JAVA_PROBED_FIRST);
static const struct java_placing falling_back = JAVA_PLACING("lock", probes, JAVA_PROBED_LIBJVM);

static void configure_lock(const struct event *e, u32 number, const struct event_options *o,
			   struct knobs *knobs)
{
	knobs->waits[WAIT_LOCK] = (struct wait_knobs){ .min_ns = o->lock_min_ns, .event = number };
}

/*
 * Requests the agent's hook only if uprobes work: without a uprobe on the hook, its calls are lost.
 */
static void hook_lock(const struct event *e, const struct event_options *o,
		      struct agent_hooks *hooks)
{
	auto_free char *why_not = why_not_uprobe();

	if (!why_not)
		hooks->lock_min_ns = o->lock_min_ns;
}

static int open_lock(struct sources *s, const struct event *e, u32 number)
{
	const struct event_options *o = sources_options(s);

	sources_add_waits(s);
	sources_describe(s, "waits for locks from %g ms", (double)o->lock_min_ns / NS_PER_MS);
	sources_add_probes(s, number, javaprobes_new(s, &placing));
	sources_add_fallback(s, number, AGENT_HOOK_LOCK, javaprobes_new(s, &falling_back));
	return 0;
}

static bool is_from_agent(const struct sample *sample)
{
	return sample->state == STATE_NONE;
}

/* A wait shorter than the unit was sampled with the probability duration / unit. */
static u64 weigh_lock(const struct event_options *o, const struct sample *sample, u64 *count)
{
	u64 unit_ns = sample->unit_ns ?: o->lock_min_ns;

	/* another recorder of the same JVM may have requested shorter waits */
	if (is_from_agent(sample) && sample->nr_user)
		unit_ns = sample_user_frames(sample)->info & USER_FRAME_DETAIL_MASK;
	if (sample->weight >= unit_ns || !sample->weight)
		return sample->weight;
	*count = (u64)((double)unit_ns / (double)sample->weight + drand48());
	return unit_ns;
}

/*
 * Whether the agent will report the wait itself: it reports a wait for a monitor at its end, if it
 * was attached at its begin. The kernel's parts of such a wait are remembered, because the wait may
 * still last when recording ends.
 */
static bool is_agents(const struct named_stack *stack)
{
	const struct sample *sample = stack->sample;
	u32 tid = sample->task.tid;
	u64 part_ns =
		sample->time_ns - sample->weight; /* the weight of this event is the duration */
	u64 since_ns = monitorwaits_since(stack->monitorwaits, tid, part_ns);
	bool is_reported = stack->lock_hook_since_ns && since_ns >= stack->lock_hook_since_ns;

	if (sample->kind != RECORD_PENDING) {
		monitorwaits_add(stack->monitorwaits, tid, part_ns, sample->time_ns);
		return is_reported;
	}
	if (is_reported)
		stack->weight->value = stack->weight->lasted_ns = sample->time_ns - since_ns;
	return false;
}

/* The agent also reports waits of virtual threads for monitors. */
static bool keep_virtual(const struct named_stack *stack)
{
	u32 state = stack->sample->cpu;

	if (state == VIRTUAL_BLOCKED || state == VIRTUAL_UNBLOCKED)
		return !stack->lock_hook_since_ns &&
		       lockstack_name_monitor(stack->symbolizer, stack->all, stack->frames,
					      stack->lock);
	return lockstack_name(stack->symbolizer, stack->all, stack->frames, stack->lock) ==
	       LOCKSTACK_LOCK;
}

static bool keep_lock(const struct named_stack *stack)
{
	if (stack->sample->kind == RECORD_VIRTUAL)
		return keep_virtual(stack);
	if (is_from_agent(stack->sample)) {
		monitorwaits_end(stack->monitorwaits, stack->sample->task.tid);
		return true;
	}
	switch (lockstack_name(stack->symbolizer, stack->all, stack->frames, NULL)) {
	case LOCKSTACK_MONITOR:
		return !is_agents(stack);
	case LOCKSTACK_LOCK:
		return true;
	default:
		return false;
	}
}

const struct event_kind event_kind_lock = {
	.name = "lock",
	.unit = "ns",
	.help = "waits of Java code for monitors and locks of java.util.concurrent",
	.programs = PROGRAM_BIT(JAVA_EVENT) | PROGRAM_BITS_WAITS,
	.nr_slots = NR_SLOTS,
	.sparser = "larger --lock-min",
	.is_of_carriers = true,
	.is_of_locks = true,
	.lasts = true,
	.configure = configure_lock,
	.open = open_lock,
	.why_not = why_not_offcpu,
	.count_unit = "waits",
	.weigh = weigh_lock,
	.keep = keep_lock,
	.hook = hook_lock,
};
