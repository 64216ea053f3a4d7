/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock: how long Java code waits for locks. The agent tells of monitors with the class of the
 * object; that a thread parks, for a lock of java.util.concurrent or for something else, libjvm's
 * own function tells, which without the agent also tells of monitors.
 */
#include <stdlib.h>

#include "base/time.h"
#include "capture/event_kind.h"
#include "capture/inbox.h"
#include "capture/javaprobes.h"

static const struct java_probe parks[] = {
	{ "hotspot:thread__park__begin", "lock_park_begin" },
	{ "hotspot:thread__park__end", "lock_park_end" },
	{ 0 },
};
static const struct java_teller tellers[] = {
	{ .function = "jvmmap_hook_lock", .program = "lock_hook", .is_hook = true },
	{ .function = "java_lang_Thread::set_thread_status",
	  .program = "lock_status",
	  .is_always = true,
	  .probes = parks },
};
static const struct java_event event = { "lock", tellers, ARRAY_SIZE(tellers) };

void configure_lock(const struct event *e, u32 number, const struct event_options *o,
		    struct knobs *knobs)
{
	knobs->lock_event = number;
	knobs->lock_min_ns = o->lock_min_ns;
	knobs->lock_has_monitors = o->without_agent;
}

void hook_lock(const struct event *e, const struct event_options *o, struct agent_hooks *hooks)
{
	hooks->lock_min_ns = o->lock_min_ns;
}

static bool place(int fd, u32 number, pid_t pid, probe_links *out, void *sources)
{
	return javaprobes_place(sources, &event, javaprobes_who(sources), fd, pid, out);
}

/* The function that tells is watched already; from now on also for monitors. */
static bool fall_back(int fd, u32 number, pid_t pid, probe_links *out, void *sources)
{
	return !bpf_set_agentless(sources_bpf(sources), pid);
}

int open_lock(struct sources *s, const struct event *e, u32 number)
{
	sources_describe(s, "waits for locks from %g ms",
			 (double)sources_options(s)->lock_min_ns / NS_PER_MS);
	sources_add_probes(s, number, probes_new(sources_options(s)->only_targets, place, s));
	sources_add_fallback(s, number, AGENT_HOOK_LOCK, probes_new(true, fall_back, s));
	return 0;
}

/* A wait shorter than the minimum was chosen with the probability duration / minimum. */
u64 weigh_lock(const struct sample *sample, u64 *count)
{
	u64 min_ns =
		sample->nr_user ? sample_user_frames(sample)->info & USER_FRAME_DETAIL_MASK : 0;

	if (sample->weight >= min_ns || !sample->weight)
		return sample->weight;
	*count = (u64)((double)min_ns / (double)sample->weight + drand48());
	return min_ns;
}
