/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock: how long Java code waits for locks. The agent tells of monitors with the class of the
 * object. Waits for locks of java.util.concurrent, and for monitors where there is no agent, are
 * waits of a thread of a JVM for a futex; what for, its stack says.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "capture/event_kind.h"
#include "capture/inbox.h"
#include "capture/javaprobes.h"
#include "capture/lockstack.h"

static const struct java_teller tellers[] = {
	{ .function = "jvmmap_hook_lock", .program = "lock_hook", .is_hook = true },
	{ .function = "ObjectMonitor::enter" },
};
static const struct java_event event = { "lock", tellers, ARRAY_SIZE(tellers) };

void configure_lock(const struct event *e, u32 number, const struct event_options *o,
		    struct knobs *knobs)
{
	knobs->waits[WAIT_LOCK] = (struct wait_knobs){ .min_ns = o->lock_min_ns, .event = number };
}

/* A hook without probe would tell nobody. */
void hook_lock(const struct event *e, const struct event_options *o, struct agent_hooks *hooks)
{
	auto_free char *why_not = why_not_uprobe();

	if (!why_not)
		hooks->lock_min_ns = o->lock_min_ns;
}

static bool place(int fd, u32 number, pid_t pid, probe_links *out, void *sources)
{
	return javaprobes_place(sources, &event, javaprobes_who(sources), fd, pid, out);
}

static bool fall_back(int fd, u32 number, pid_t pid, probe_links *out, void *sources)
{
	return javaprobes_place(sources, &event, TELLERS_LIBJVM, fd, pid, out);
}

int open_lock(struct sources *s, const struct event *e, u32 number)
{
	sources_add_waits(s);
	sources_describe(s, "waits for locks from %g ms",
			 (double)sources_options(s)->lock_min_ns / NS_PER_MS);
	sources_add_probes(s, number, probes_new(sources_options(s)->only_targets, place, s));
	sources_add_fallback(s, number, AGENT_HOOK_LOCK, probes_new(true, fall_back, s));
	return 0;
}

static bool is_from_agent(const struct sample *sample)
{
	return sample->state == STATE_NONE;
}

/* A wait shorter than the unit was chosen with the probability duration / unit. */
u64 weigh_lock(const struct event_options *o, const struct sample *sample, u64 *count)
{
	u64 unit_ns = sample->unit_ns ?: o->lock_min_ns;

	/* Another recorder of the JVM may have asked for shorter ones. */
	if (is_from_agent(sample) && sample->nr_user)
		unit_ns = sample_user_frames(sample)->info & USER_FRAME_DETAIL_MASK;
	if (sample->weight >= unit_ns || !sample->weight)
		return sample->weight;
	*count = (u64)((double)unit_ns / (double)sample->weight + drand48());
	return unit_ns;
}

/*
 * The agent tells of a wait for a monitor when it is over, if it was there when that began. Until
 * then its parts are remembered, as the wait may last when recording ends.
 */
static bool is_agents(const struct named_stack *stack)
{
	const struct sample *sample = stack->sample;
	u32 tid = sample->task.tid;
	u64 part_ns = sample->time_ns - sample->weight; /* of this event: what it lasted */
	u64 since_ns = monitorwaits_since(stack->monitorwaits, tid, part_ns);
	bool is_told = stack->lock_hook_since_ns && since_ns >= stack->lock_hook_since_ns;

	if (sample->kind != RECORD_PENDING) {
		monitorwaits_add(stack->monitorwaits, tid, part_ns, sample->time_ns);
		return is_told;
	}
	if (is_told)
		stack->weight->value = sample->time_ns - since_ns;
	return false;
}

bool keep_lock(const struct named_stack *stack)
{
	if (is_from_agent(stack->sample)) {
		monitorwaits_end(stack->monitorwaits, stack->sample->task.tid);
		return true;
	}
	switch (lockstack_name(stack->symbolizer, stack->all, stack->frames)) {
	case LOCKSTACK_MONITOR:
		return !is_agents(stack);
	case LOCKSTACK_LOCK:
		return true;
	default:
		return false;
	}
}
