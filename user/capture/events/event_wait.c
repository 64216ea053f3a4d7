/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu: waits. wall: all time, running or waiting. Ticks of the CPU's clock sample running
 * threads, each with the period as its weight. Waits are sampled as if by that clock. A wait
 * shorter than the period is sampled with the probability that a tick falls into it. A longer one
 * is one sample of its full duration instead of many equal ones, and so sleeping threads cost
 * nothing. nativelock: waits for locks of C, C++, Rust .., which are futexes.
 * Part of capture/events/event_kind.h.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/events/event_kind.h"
#include "capture/kernel/privilege.h"

#define INNER_FRAMES 32 /* from the leaf on: of the kernel, libc, libjvm */
#define OUTER_FRAMES 32 /* from the root on: a carrier has some 20 below enterSpecial */
#define FUTEX_FRAMES 4  /* the innermost user frames that may hold a condition's function */

static void configure_offcpu(const struct event *e, u32 number, const struct event_options *o,
			     struct knobs *knobs)
{
	knobs->waits[WAIT_OFFCPU] =
		(struct wait_knobs){ .min_ns = o->offcpu_min_ns, .event = number };
}

static u64 wall_period_ns(const struct event_options *o)
{
	return NS_PER_SEC / (u64)o->freq_hz;
}

static void configure_wall(const struct event *e, u32 number, const struct event_options *o,
			   struct knobs *knobs)
{
	knobs->waits[WAIT_WALL] =
		(struct wait_knobs){ .min_ns = wall_period_ns(o), .event = number };
	knobs->events[number].weight = wall_period_ns(o);
	knobs->events[number].is_clock = true;
}

static void configure_nativelock(const struct event *e, u32 number, const struct event_options *o,
				 struct knobs *knobs)
{
	knobs->waits[WAIT_NATIVELOCK] =
		(struct wait_knobs){ .min_ns = o->lock_min_ns, .event = number };
}

/* A wait shorter than the unit was sampled with the probability duration / unit. */
static u64 weigh_wait(const struct event_options *o, const struct sample *sample, u64 *count)
{
	return sample->weight < sample->unit_ns ? sample->unit_ns : sample->weight;
}

/*
 * Kernel functions that wait for a disk without the mark of io_schedule: for the journals of ext4,
 * xfs and btrfs, and for write-back.
 */
static const char *const disk_waits[] = {
	"jbd2_log_wait_commit", "xlog_wait_on_iclog", "xlog_force_lsn",
	"wait_for_commit",      "wait_log_commit",    "wb_wait_for_completion",
};

/* The compiler may add a suffix to the function: ".isra.0". */
static bool is_disk_wait(const char *name)
{
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < ARRAY_SIZE(disk_waits); i++)
		if (strlen(disk_waits[i]) == len && !strncmp(name, disk_waits[i], len))
			return true;
	return false;
}

/* Whether one of these frames is the method; `begins`: any function whose name begins so. */
static bool has_frame(const struct named_stack *stack, size_t from, size_t nr, const char *name,
		      bool begins)
{
	size_t len = strlen(name) + !begins;

	for (size_t i = from; i < stack->frames->nr && i < from + nr; i++)
		if (!strncmp(frames_get(stack->all, stack->frames->at[i])->name, name, len))
			return true;
	return false;
}

/*
 * A worker of a ForkJoinPool that has nothing to do is idle, such as a carrier of virtual threads.
 * A carrier that waits below a virtual thread's frames is pinned, unless the JVM stops all threads.
 */
static u32 state_of_carrier(const struct named_stack *stack, u32 state)
{
	size_t nr = stack->frames->nr;

	if (has_frame(stack, 0, INNER_FRAMES, "java.util.concurrent.ForkJoinPool.awaitWork", false))
		return STATE_IDLE;
	if (has_frame(stack, nr > OUTER_FRAMES ? nr - OUTER_FRAMES : 0, OUTER_FRAMES,
		      "jdk.internal.vm.Continuation.enterSpecial", false) &&
	    !has_frame(stack, 0, INNER_FRAMES, "Safepoint", true))
		return STATE_PINNED;
	return state;
}

/* The innermost frame is the function that called the scheduler (sources_frames_to_skip). */
static u32 state_of_thread(const struct named_stack *stack)
{
	u32 state = stack->sample->state;

	if (state == STATE_SLEEPING && stack->sample->kind != RECORD_VIRTUAL)
		return state_of_carrier(stack, state);
	if (state != STATE_UNINTERRUPTIBLE || !stack->frames->nr)
		return state;
	const struct frame *leaf = frames_get(stack->all, stack->frames->at[0]);
	return leaf->kind == FRAME_KERNEL && is_disk_wait(leaf->name) ? STATE_DISK : state;
}

/* musl's condition waits for the value that marks a lock in other libraries. */
static bool is_condition(const char *name)
{
	return strstr(name, "pthread_cond_") || strstr(name, "cnd_");
}

/* The waiting function becomes the leaf: leaves out the frames of the kernel. */
static bool keep_nativelock(const struct named_stack *stack)
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

static int open_offcpu(struct sources *s, const struct event *e, u32 number)
{
	sources_add_waits(s);
	sources_describe(s, "waits from %g ms",
			 (double)sources_options(s)->offcpu_min_ns / NS_PER_MS);
	return 0;
}

static int open_nativelock(struct sources *s, const struct event *e, u32 number)
{
	sources_add_waits(s);
	sources_describe(s, "waits for native locks from %g ms",
			 (double)sources_options(s)->lock_min_ns / NS_PER_MS);
	return 0;
}

static int open_wall(struct sources *s, const struct event *e, u32 number)
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
	if (programs_can_follow_waits())
		return NULL;
	return xstrdup("the kernel has neither the tracepoint sched_exit_tp, which came with "
		       "Linux 6.16, nor a function finish_task_switch that can be probed");
}

const struct event_kind event_kind_offcpu = {
	.name = "offcpu",
	.unit = "ns",
	.help = "time off the CPU: all waits from --offcpu-min on, shorter ones sampled",
	.programs = PROGRAM_BITS_WAITS,
	.nr_slots = SLOT_SWITCH + 1,
	.sparser = "larger --offcpu-min",
	.is_of_carriers = true,
	.lasts = true,
	.configure = configure_offcpu,
	.open = open_offcpu,
	.weigh = weigh_wait,
	.state = state_of_thread,
	.why_not = why_not_offcpu,
};

const struct event_kind event_kind_wall = {
	.name = "wall",
	.unit = "ns",
	.help = "time of all threads, running or waiting alike, at -F Hz",
	.programs = PROGRAM_BIT(PERF_SAMPLE) | PROGRAM_BITS_WAITS,
	.nr_slots = SLOT_SWITCH + 1,
	.sparser = "lower -F",
	.is_of_carriers = true,
	.lasts = true,
	.configure = configure_wall,
	.open = open_wall,
	.weigh = weigh_wait,
	.state = state_of_thread,
	.why_not = why_not_offcpu,
};

const struct event_kind event_kind_nativelock = {
	.name = "nativelock",
	.unit = "ns",
	.help = "waits for locks of C, C++, Rust, .. that use futexes; --lock-min",
	.programs = PROGRAM_BITS_WAITS,
	.nr_slots = SLOT_SWITCH + 1,
	.sparser = "larger --lock-min",
	.lasts = true,
	.configure = configure_nativelock,
	.open = open_nativelock,
	.weigh = weigh_wait,
	.keep = keep_nativelock,
	.why_not = why_not_offcpu,
};
