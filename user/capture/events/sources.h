/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a recording, opened in the kernel. */
#pragma once

#include <linux/perf_event.h>

#include "capture/events/events.h"
#include "capture/events/monitorwaits.h"
#include "capture/probes/probes.h"
#include "capture/programs/other_programs.h"
#include "capture/programs/programs.h"
#include "jvm/agent/agents.h"
#include "sym/symbolize.h"

struct sources;

/* Fills in the programs, slots and knobs of `bpf` that the events need. */
void sources_configure(const struct events *events, const struct event_options *o,
		       struct programs_options *bpf);

/* Opens all events, not yet running. Logs errors. The arguments must outlive the sources. */
int sources_open(struct programs *bpf, const struct events *events, const struct event_options *o,
		 struct sources **out);
void sources_close(struct sources *s);

int sources_start(struct sources *s);

/* Stops the clocks and counters of the CPUs; probes stay until sources_stop. */
void sources_stop_cpus(struct sources *s);
void sources_stop(struct sources *s);

/*
 * Adds the samples of the targets for which no program ran, by event and in all, to counters of
 * losses. `events` has the counts by BPF.
 */
void sources_count_missed(struct sources *s, u64 events[][NR_EVENT_COUNTS], u64 *stats);

/*
 * Whether samples are missing because BPF programs of other processes ran, and no program of ours
 * takes them.
 */
bool sources_misses_some(const struct sources *s);

/*
 * If so, appends the other processes' BPF programs, each with its run time since the previous call
 * that appended programs, or else since the first missing sample. In the minute after such a call
 * appends nothing, because the search is expensive on a node with many processes. Returns whether
 * that is worth a warning, at most every ten minutes.
 */
bool sources_others(struct sources *s, other_program_list *out);

/* Follows CPUs that come online or go offline; call it from time to time. */
void sources_follow(struct sources *s);

/* Sets the recording's window: nothing is sampled outside of it, or before the first call. */
void sources_set_window(struct sources *s, const struct span *window);

/* A wait that becomes a sample of the event `number`. */
struct sources_wait {
	u32 number;
	u64 waited_ns; /* within the window */
	u64 unit_ns;   /* as in struct sample */
	bool is_idle;  /* the thread never ran in the window */
};

/* After the window's end: visits the waits that last beyond it. */
typedef void (*sources_blocked_fn)(const struct blocked_thread *p, const struct sources_wait *wait,
				   void *ctx);
void sources_blocked(struct sources *s, sources_blocked_fn pending, void *ctx);

/*
 * Call it after all sources_blocked: adds the begin of each wait that still lasts to *since, by
 * thread id. Other threads have resumed since the window ended and have sent their samples
 * themselves.
 */
void sources_last_blocked(struct sources *s, struct dict *since);

/*
 * Call sources_add_process when a recorded process was seen or maps more: it places the events'
 * probes in the process's files. Files that take long to search get theirs by sources_poll, which
 * every tick calls. Call sources_remove_process when the process has ended.
 */
void sources_add_process(struct sources *s, const struct process *p);
void sources_poll(struct sources *s, const struct processes *all);
void sources_remove_process(struct sources *s, const struct process *p);

/* Forgets files that no longer matter for probes. Call it now and then. */
void sources_turn(struct sources *s);

/* Whether files are being searched for places of probes, or a program is being loaded. */
bool sources_are_being_prepared(const struct sources *s);

/* Whether some probes are placed process by process, before a process's first sample. */
bool sources_are_placed(const struct sources *s);

/* The event of a sample. The functions below take it, so that it is looked up once. */
const struct event *sources_event(const struct sources *s, const struct sample *sample);

/* Whether a sample counts memory twice: the allocator malloc takes it from another one, mmap. */
bool sources_is_double(const struct sources *s, const struct event *event,
		       const struct sample *sample, const struct process *p);

/*
 * Whether the event's samples are held until their memory is known to be freed or not. *age_ns is
 * then the least age of memory that counts.
 */
bool sources_is_live_only(const struct sources *s, const struct event *event, u64 *age_ns);

/* For people: "cpu-clock, 99 Hz"; valid until sources_close. */
const char *sources_text(const struct sources *s);
int sources_nr_cpus(const struct sources *s);

struct sample_weight sources_weigh(const struct sources *s, const struct event *event,
				   const struct sample *sample);

/* Fills in the reports that the events need from agents; all zero if they need none. */
void sources_hooks(const struct events *events, const struct event_options *o,
		   struct agent_hooks *out);

/* Whether the event wants to know the locks that virtual threads wait for. */
bool sources_is_of_locks(const struct event *event);

/* Whether the event lacks the waits of virtual threads that are not mounted on a carrier. */
bool sources_is_of_carriers(const struct event *event);

/* A stack with its names, on its way into the profile. */
struct named_stack {
	const struct event *event;
	const struct sample *sample; /* its head */
	struct sample_weight *weight;
	u64 lock_hook_since_ns; /* the agent reports waits that begin from here on; 0: none */
	struct monitorwaits *monitorwaits;
	const char *lock; /* class of a virtual thread's lock; NULL: see struct virtual_thread */
	struct hotspot *hotspot; /* of the process's JVM; NULL: not a JVM, or not known yet */
	struct symbolizer *symbolizer;
	const struct frames *all;
	frame_list *frames; /* leaf first */
};

/* Whether the stack belongs to the event; may change its frames and weight. */
bool sources_keep(const struct named_stack *stack);

/* The thread's state, a group above the stack; STATE_NONE if the event has no such groups. */
u32 sources_state(const struct named_stack *stack);

/*
 * The group above the stack, NULL if it has none. *is_left_out: samples of the group are not
 * recorded.
 */
const char *sources_group(const struct sources *s, const struct named_stack *stack,
			  bool *is_left_out);

/*
 * Counts, for a warning at the end, a process that lost its probes because its main thread ended.
 * NULL if the process is not known.
 */
void sources_lose_probes(struct sources *s, const struct process *p);

/* Counts a process that ended before it had its probes, for a warning at the end. */
void sources_count_gone(struct sources *s);

/*
 * The number of leaf frames in the kernel to leave out: of the sampling itself and the scheduler.
 */
size_t sources_frames_to_skip(struct sources *s, const struct event *event,
			      const struct sample *sample);

/*
 * The process's agent does not report events of `hooks` (struct unserved_hooks): attaches the
 * fallback probes.
 */
void sources_fall_back(struct sources *s, const struct process *p, u32 hooks);

/*
 * The process's agent reports these events again: detaches the fallback probes, since events would
 * count twice.
 */
void sources_end_fallback(struct sources *s, const struct process *p, u32 hooks);

struct programs *sources_bpf(const struct sources *s);
const struct event_options *sources_options(const struct sources *s);
