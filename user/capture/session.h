/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: opens the event sources, follows processes, and turns the kernel's records into a
 * profile. It has one thread; all work happens inside session_tick.
 */
#pragma once

#include "capture/events/events.h"
#include "capture/kernel/cost.h"
#include "capture/samples/levels.h"
#include "capture/samples/quality.h"
#include "capture/targets/targets.h"
#include "jvm/agent/agents.h"
#include "profile/profile.h"

struct session_options {
	const struct events *events;
	struct event_options sampling;
	struct targets *targets;
	size_t ring_bytes;        /* 0: chosen from the number of CPUs and events */
	struct level_list levels; /* the levels under the root */
	const regex_t *thread;    /* keep samples of threads with matching names; NULL: all */
	enum agent_mode agent;
	const char *agent_path;   /* the agent's library; NULL: the installed one */
	bool lines;               /* one frame per line of a Java method */
	u64 slot_ns;              /* the length of a time slot; 0: keep no time */
	u64 duration_ns;          /* of the window; 0: until session_stop */
	bool measure;             /* measure the run time of the BPF programs */
	bool keeps_output_rights; /* the output needs rights over files of others
				     (proc/privileges.h) */
};

struct session_event {
	const char *name;
	u64 samples;
};

/* Numbers on a recording, for the live line and the summary. */
struct session_progress {
	u64 samples, truncated; /* that became part of the profile */
	u64 lost;
	struct session_event events[ABI_EVENTS]; /* `samples` by event */
	u32 nr_events;
	u64 approximate; /* samples with a frame whose caller was searched or assumed */
	u64 frames, frames_named;
	u64 frames_inferred;                /* named by their role, see elf/roles.h */
	u64 java_frames, java_frames_named; /* nr_java, nr_java_named of samples.h */
	u64 held;                           /* samples of memory held back, so far */
	u64 other_threads;                  /* samples of threads that --thread-name leaves out */
	u64 reserved_bytes;                 /* reserved by JVMs and threads, left out by --leaks */
	u64 frozen;                         /* user stacks that lack callers on the heap */
	u64 without_line;                   /* frames of Java methods */
	u64 inexact;                        /* leaves of compiled code, see symbolizer_nr_inexact */
	u64 name_conflicts;                 /* between the agent and HotSpot's tables */
	u64 start_to_first_sample_ns;       /* from session_start; 0 until the first sample */
	u64 set_up_ns, set_up_worked_ns;    /* duration of session_start; its CPU time */
	struct sampling_cost cost;
	u32 jvms;                                    /* JVMs seen */
	u32 jvms_asked, jvms_attached, jvms_refused; /* by the agent's state */
	int nr_cpus;
	const char *event;        /* event, source and rate: "cpu-clock, 99 Hz" */
	const char *kernel_error; /* why kernel frames have no names; NULL if they have */
};

struct session;

/*
 * The options' pointers must stay valid. Logs errors. On return the window has begun. With
 * --wait-for it begins when the program is executed.
 */
int session_start(const struct session_options *options, struct session **out);

/*
 * Processes everything that has arrived. Call it every session_tick_ms, and after session_woken
 * when session_fd is readable.
 */
void session_tick(struct session *s);
int session_tick_ms(const struct session *s);

/* The time since the window began; 0 while --wait-for waits for a program. */
u64 session_elapsed_ns(const struct session *s);

/*
 * Readable when a process has mapped code; the unwinder needs tables for it before its next sample.
 * -1 when that happens so often that the next tick has to do.
 */
int session_fd(struct session *s);

/* session_fd was readable: waits for the program's next mappings for a moment. */
void session_woken(struct session *s);

/* Stops sampling and names the remaining samples. The profile is complete afterwards. */
void session_stop(struct session *s);
void session_free(struct session *s);

void session_progress(const struct session *s, struct session_progress *out);

/*
 * Calls `visit` for every reason why user stacks did not reach their root, with the number of
 * stacks.
 */
typedef void (*session_counter_fn)(const struct counter *c, u64 nr, void *ctx);
void session_each_reason(const struct session *s, session_counter_fn visit, void *ctx);

/* The same for losses that belong to no event; capture/losses.h has the losses of events. */
void session_each_loss(const struct session *s, session_counter_fn visit, void *ctx);

/*
 * Calls `visit` for every process with many incomplete stacks. The list is complete after
 * session_stop.
 */
void session_each_incomplete(const struct session *s, incomplete_fn visit, void *ctx);

/* A JVM whose agent began to report events within the window. */
struct session_late {
	pid_t pid;
	const char *comm;
	const char *effects; /* "alloc is counted and monitors have a class" */
	u64 since_ns;        /* since the window's begin */
};
typedef void (*session_late_fn)(const struct session_late *late, void *ctx);
void session_each_late(const struct session *s, session_late_fn visit, void *ctx);

struct agents *session_agents(struct session *s);

/* Valid until session_free. */
struct profile *session_profile(struct session *s);
