/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu and wall: where threads wait, and where they are at all. wall is the CPU's clock, each
 * sample weighing its period, and waits sampled as if by that clock: a wait shorter than the period
 * is a sample with the probability that a tick falls into it, and longer ones are one sample of
 * full weight instead of many equal ones. Sleeping threads therefore cost nothing.
 * nativelock: those of the waits that are for a lock of C, C++, Rust .., which is a futex.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/event_kind.h"
#include "capture/privilege.h"

#define FUTEX_FRAMES 4 /* from the call on, in which a condition's function stands */

void configure_offcpu(const struct event *e, u32 number, const struct event_options *o,
		      struct knobs *knobs)
{
	knobs->waits[WAIT_OFFCPU] =
		(struct wait_knobs){ .min_ns = o->offcpu_min_ns, .event = number };
}

static u64 wall_period_ns(const struct event_options *o)
{
	return NS_PER_SEC / (u64)o->freq_hz;
}

void configure_wall(const struct event *e, u32 number, const struct event_options *o,
		    struct knobs *knobs)
{
	knobs->waits[WAIT_WALL] =
		(struct wait_knobs){ .min_ns = wall_period_ns(o), .event = number };
	knobs->events[number].weight = wall_period_ns(o);
}

void configure_nativelock(const struct event *e, u32 number, const struct event_options *o,
			  struct knobs *knobs)
{
	knobs->waits[WAIT_NATIVELOCK] =
		(struct wait_knobs){ .min_ns = o->lock_min_ns, .event = number };
}

/* musl's condition waits for the value that is a lock of others. */
static bool is_condition(const char *name)
{
	return strstr(name, "pthread_cond_") || strstr(name, "cnd_");
}

/* The function that waits is the leaf; what does it for that, the kernel and libc know. */
bool keep_nativelock(const struct named_stack *stack)
{
	frame_list *frames = stack->frames;
	size_t at = 0;

	while (at < frames->nr && frames_get(stack->all, frames->at[at])->kind == FRAME_KERNEL)
		at++;
	for (size_t i = at; i < frames->nr && i < at + FUTEX_FRAMES; i++)
		if (is_condition(frames_get(stack->all, frames->at[i])->name))
			return false;
	memmove(frames->at, frames->at + at, (frames->nr - at) * sizeof(frames->at[0]));
	frames->nr -= at;
	return true;
}

int open_offcpu(struct sources *s, const struct event *e, u32 number)
{
	sources_add_waits(s);
	sources_describe(s, "waits from %g ms",
			 (double)sources_options(s)->offcpu_min_ns / NS_PER_MS);
	return 0;
}

int open_nativelock(struct sources *s, const struct event *e, u32 number)
{
	sources_add_waits(s);
	sources_describe(s, "waits for native locks from %g ms",
			 (double)sources_options(s)->lock_min_ns / NS_PER_MS);
	return 0;
}

int open_wall(struct sources *s, const struct event *e, u32 number)
{
	const struct event_options *o = sources_options(s);
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = wall_period_ns(o),
	};

	sources_add_waits(s);
	sources_describe(s, "wall clock, %d Hz", o->freq_hz);
	int err = sources_add_cpus(s, &attr, number);
	if (err)
		privilege_explain("opening perf events", err);
	return err;
}

char *why_not_offcpu(void)
{
	if (bpf_can_follow_waits())
		return NULL;
	return xstrdup("the kernel has neither the tracepoint sched_exit_tp, which came with "
		       "Linux 6.16, nor a function finish_task_switch that can be probed");
}
