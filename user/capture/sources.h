/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a recording, opened in the kernel. */
#pragma once

#include <linux/perf_event.h>

#include "capture/bpf.h"
#include "capture/events.h"
#include "capture/monitorwaits.h"
#include "capture/probes.h"
#include "jvm/agents.h"
#include "sym/symbolize.h"

struct sources;

/* What the kernel's programs have to know of the events; fills in `bpf`. */
void sources_configure(const struct events *events, const struct event_options *o,
		       struct bpf_options *bpf);

/* Opens all events, not yet running. Logs what is wrong. The arguments must outlive the sources. */
int sources_open(struct bpf *bpf, const struct events *events, const struct event_options *o,
		 struct sources **out);
void sources_close(struct sources *s);

int sources_start(struct sources *s);

/* Nothing is sampled from here on. */
void sources_stop(struct sources *s);

/* Follows CPUs that come and go; call it now and then. */
void sources_follow(struct sources *s);

/*
 * After sources_stop: what the threads that still wait have waited for so far, as samples whose
 * weight is complete and whose user stack is missing. `number` is the event's; `is_idle` if the
 * thread never ran.
 */
typedef void (*sources_pending_fn)(const struct pending *p, u32 number, u64 weight, bool is_idle,
				   void *ctx);
void sources_pending(struct sources *s, sources_pending_fn pending, void *ctx);

/* CLOCK_MONOTONIC when all threads that waited were known; their waits began then or before. */
u64 sources_waits_since(const struct sources *s);

/*
 * For the last time: since when which thread waits, by its id as p->sample.weight. Others have gone
 * on since recording ended, and have sent their samples themselves.
 */
void sources_last_pending(struct sources *s, struct dict *since);

/*
 * A process that is recorded was seen, or maps more; it has ended. Both are for the events that put
 * probes into what it maps, where they work at once.
 */
void sources_meet(struct sources *s, const struct process *p);
void sources_leave(struct sources *s, const struct process *p);

/* Whether a process has to be met before it is recorded. */
bool sources_are_placed(const struct sources *s);

/* Whether a sample counts memory once more: one allocator, malloc, takes it from another, mmap. */
bool sources_is_double(const struct sources *s, const struct sample *sample,
		       const struct process *p);

/*
 * Whether the event's samples are to be held until their memory is known to be freed or not; then
 * *age_ns is how old memory has to be to count.
 */
bool sources_is_held(const struct sources *s, u32 number, u64 *age_ns);

/* "cpu-clock, 99 Hz" for people; valid until sources_close. */
const char *sources_text(const struct sources *s);
int sources_nr_cpus(const struct sources *s);

struct sample_weight sources_weigh(const struct sources *s, const struct sample *sample);

/* What the agents in JVMs are to tell for the events; false if nothing. */
bool sources_hooks(const struct events *events, const struct event_options *o,
		   struct agent_hooks *out);

/* Whether the event's stacks stand under the thread's state. */
bool sources_by_state(const struct sources *s, u32 number);

/* A stack that has its names, on its way into the profile. */
struct named_stack {
	const struct sample *sample; /* its head */
	struct sample_weight *weight;
	u64 lock_hook_since_ns; /* of which waits for monitors an agent tells; 0: of none */
	struct monitorwaits *monitorwaits;
	struct symbolizer *symbolizer;
	const struct frames *all;
	frame_list *frames; /* leaf first */
};

/* Whether what the stack tells is about the event, which may change its frames and weight then. */
bool sources_keep(const struct sources *s, const struct named_stack *stack);

/*
 * The process's main thread has ended, and with it its probes; of how many is said at the end.
 * NULL: of a process that is not known.
 */
void sources_lose_probes(struct sources *s, const struct process *p);

/* A process ended before it could have its probes; how many did is said at the end. */
void sources_count_gone(struct sources *s);

/* How many of the kernel's frames say nothing: the sample's own and the scheduler's. */
size_t sources_frames_to_skip(const struct sources *s, const struct sample *sample);

/* Agents do not tell of the events of `hooks` (struct untold): what stands in for them is to. */
void sources_fall_back(struct sources *s, const struct process *p, u32 hooks);

/* For the kinds of events (event_kind.h): */

/* A perf event on every CPU; perf_open's error. */
int sources_add_cpus(struct sources *s, const struct perf_event_attr *attr, u32 number);
void sources_add_link(struct sources *s, struct bpf_link *link);

/* What attaching to the event's place gave: takes the link, or says why there is none. */
int sources_take_link(struct sources *s, const struct event *e, int err, struct bpf_link *link);

#define SOURCES_NO_EVENT ABI_EVENTS

/* The probes of event `number` or of none; they are the sources' from here on. */
void sources_add_probes(struct sources *s, u32 number, struct probes *probes);

/* The same for processes in which the agent's hook does not tell. */
void sources_add_fallback(struct sources *s, u32 number, enum agent_hook hook,
			  struct probes *probes);

/* Records waits from sources_start to sources_stop; once for any number of events. */
void sources_add_waits(struct sources *s);

struct bpf *sources_bpf(const struct sources *s);
const struct event_options *sources_options(const struct sources *s);

/* Adds what the event really is to the text for people. */
void sources_describe(struct sources *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
