/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: opens the event sources, follows processes, and turns what the kernel sends into a
 * profile. One thread: everything happens inside session_tick.
 */
#pragma once

#include "capture/cost.h"
#include "capture/events.h"
#include "capture/levels.h"
#include "capture/targets.h"
#include "jvm/agents.h"
#include "profile/profile.h"

struct session_options {
	const struct events *events;
	struct event_options sampling;
	struct targets *targets;
	size_t ring_bytes;        /* 0: by the number of CPUs */
	struct level_list levels; /* under the root */
	const regex_t *thread;    /* sampled threads are kept if their names match; NULL: all */
	enum agent_mode agent;
	const char *agent_path; /* the agent's library; NULL: where it is installed */
	bool lines;             /* a frame for each line of a Java method */
	u64 slot_ns;            /* time is kept in slots of it; 0: not at all */
	bool measure;           /* keep the BPF program's run time */
};

/* How it goes: for the live line and the summary. */
struct session_progress {
	u64 samples, lost, truncated;
	u64 approximate; /* samples with a frame whose caller was searched or assumed */
	u64 frames, frames_named;
	u64 java_frames, java_frames_named; /* samples.h */
	u64 other_threads;                  /* samples of threads that --thread leaves out */
	u64 throttled;                      /* of those that are lost */
	u64 sparse;                         /* waits that stand for more than they would alone */
	u64 untracked;                      /* allocations that may be freed or not */
	u64 events_lost;                    /* of processes: fork, exec, exit */
	u64 frozen;                         /* user stacks that lack callers on the heap */
	u64 without_line;                   /* frames of Java methods */
	u64 name_conflicts;                 /* of the agent and HotSpot's tables */
	u64 start_to_first_sample_ns;       /* from session_start; 0 while there is none */
	struct sampling_cost cost;
	u32 jvms;                                    /* seen */
	u32 jvms_asked, jvms_attached, jvms_refused; /* for the agent */
	int nr_cpus;
	const char *event;        /* "cpu-clock, 99 Hz": what is sampled and how */
	const char *kernel_error; /* why kernel frames have no names; NULL if they have */
};

struct session;

/* The options' pointers must stay valid. Logs what is wrong. */
int session_start(const struct session_options *options, struct session **out);

/*
 * Takes in what happened; to be called every session_tick_ms, and when session_fd is readable, but
 * not more often than every SESSION_PAUSE_MS.
 */
#define SESSION_PAUSE_MS 2
void session_tick(struct session *s);
int session_tick_ms(const struct session *s);

/* Readable when a process has mapped code: it needs tables before its next sample. */
int session_fd(const struct session *s);

/* Stops sampling, names what is left; the profile is complete after it. */
void session_stop(struct session *s);
void session_free(struct session *s);

void session_progress(const struct session *s, struct session_progress *out);

/* Calls `visit` for every reason why user stacks did not reach their root, with how many. */
typedef void (*session_reason_fn)(const char *why, u64 nr, void *ctx);
void session_each_reason(const struct session *s, session_reason_fn visit, void *ctx);

struct agents *session_agents(struct session *s);

/* Valid until session_free. */
struct profile *session_profile(struct session *s);
