/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: events of chosen processes, with BPF programs, counters and a ring of its own. It
 * runs beside others on the tables of one node (node.h), which advances it in node_tick. Its
 * samples go to its sinks.
 */
#pragma once

#include "capture/events/events.h"
#include "capture/programs/programs.h"
#include "capture/samples/sink.h"
#include "capture/targets/targets.h"
#include "jvm/agent/agents.h"

struct node;

struct recording_options {
	const struct events *events;
	struct event_options sampling;
	struct targets *targets;
	size_t ring_bytes; /* 0: chosen from the number of CPUs and events */
	enum agent_mode agent;
	u64 duration_ns; /* of the window; 0: until recording_stop */
	bool measure;    /* measure the run time of the BPF programs */
	bool may_lag;    /* nobody watches it: samples may be taken in up to 300 ms later */
};

enum recording_state {
	RECORDING_BEGINS, /* agents attach, for at most 1 s */
	RECORDING_RUNS,
	RECORDING_ENDS, /* samples get their last names */
	RECORDING_DONE,
};

struct recording_event {
	const char *name;
	u64 samples;
};

/* Numbers on a recording, for the live line and the summary. */
struct recording_progress {
	u64 samples, truncated; /* samples that became part of the profile */
	u64 missed;             /* lost samples for which no program ran */
	/* samples taken by the kernel: each becomes part of the profile, or is lost */
	u64 sampled;
	u64 lost;
	struct recording_event events[ABI_EVENTS]; /* `samples` by event */
	u32 nr_events;
	struct sample_counts counts;
	u64 held;                     /* samples of memory held back, so far */
	u64 without_line;             /* frames of Java methods */
	u64 name_conflicts;           /* between the agent and HotSpot's tables */
	u64 start_to_first_sample_ns; /* from recording_new; 0 until the first sample */
	/* time from recording_new until the recording runs; CPU time used in it */
	u64 set_up_ns, set_up_worked_ns;
	struct sampling_cost cost;
	u32 jvms; /* JVMs seen */
	/*
	 * JVMs of the whole node, by the state of their agents. jvms_warned: JVMs that have printed
	 * a warning about the agent.
	 */
	u32 jvms_asked, jvms_attached, jvms_refused, jvms_spared, jvms_warned;
	int nr_cpus;
	const char *event;        /* event, source and rate: "cpu-clock, 99 Hz" */
	const char *kernel_error; /* why kernel frames have no names; NULL if they have */
};

struct recording;

/*
 * The options' pointers must stay valid. Before node_start it begins to attach agents at once,
 * where the events need them.
 */
struct recording *recording_new(struct node *n, const struct recording_options *options);

/*
 * Adds a sink, which stays the recording's. Not after recording_start. Samples that are held until
 * their memory is freed (--live, --leaks) allow one sink.
 */
struct sink *recording_add_sink(struct recording *r, const struct sink_options *options);

/*
 * Begins to load the programs, after node_load. Without a call, recording_start loads them. Loading
 * takes less time before node_start. Logs errors.
 */
int recording_load(struct recording *r);

/*
 * Loads the programs and opens the events. Logs errors. Then node_tick advances the recording: it
 * waits for agents and begins the window. With --wait-for that begins when the program is executed.
 */
int recording_start(struct recording *r);

enum recording_state recording_state(const struct recording *r);

/* 0, or the error of an event that could not be started, which was logged. */
int recording_error(const struct recording *r);

/* The time since the window began; 0 while --wait-for waits for a program. */
u64 recording_elapsed_ns(const struct recording *r);

/*
 * Ends the window; call it after recording_start. node_tick finishes the recording: waiting threads
 * become samples, and samples get their last names.
 */
void recording_stop(struct recording *r);

/* Removes the recording from its node. Cuts not taken are lost. */
void recording_free(struct recording *r);

/*
 * Ends the sink's cut now and begins an empty one. -ENOTSUP if samples are held until it is known
 * whether their memory was freed, so that they have no time. -EAGAIN before and after the window.
 * recording_take_cut has it later.
 */
int recording_cut(struct recording *r, struct sink *k);

/*
 * The sink's oldest cut that is complete, with its notes; NULL if there is none yet. The caller
 * frees it. After RECORDING_DONE the last one follows.
 */
struct cut *recording_take_cut(struct recording *r, struct sink *k);

void recording_progress(const struct recording *r, struct recording_progress *out);

/*
 * Calls `visit` for every reason why user stacks of a cut did not reach their root, with the number
 * of stacks.
 */
typedef void (*counter_fn)(const struct counter *c, u64 nr, void *ctx);
void cut_each_reason(const struct cut *c, counter_fn visit, void *ctx);

/*
 * Calls `visit` for the losses that belong to no event; capture/losses.h has the losses of events.
 */
void cut_each_loss(const struct cut *c, counter_fn visit, void *ctx);

/* A JVM whose agent began to report events of the recording within a cut. */
struct late_jvm {
	pid_t pid;
	const char *comm;
	const char *effects; /* "alloc is counted and monitors have a class" */
	u64 since_ns;        /* since the cut's begin */
};
typedef void (*late_jvm_fn)(const struct late_jvm *late, void *ctx);
void cut_each_late(const struct recording *r, const struct cut *c, late_jvm_fn visit, void *ctx);

/*
 * The number of JVMs with virtual threads whose waits off their carriers are missing; adds the name
 * of one to *first. 0 unless waits were recorded.
 */
u32 cut_nr_virtual(const struct recording *r, const struct cut *c, struct str *first);
