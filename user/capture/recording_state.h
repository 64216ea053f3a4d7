/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a recording: recording.c runs it, progress.c reports on it. */
#pragma once

#include "base/types.h"
#include "base/vec.h"
#include "capture/events/sources.h"
#include "capture/kernel/receiver.h"
#include "capture/node_state.h"
#include "capture/recording.h"
#include "capture/samples/samples.h"
#include "capture/samples/unwalked_samples.h"

/* The steps of RECORDING_ENDS, in order. Each begins after everything was taken in. */
enum ending {
	ENDING_PENDING,  /* walk the threads that still wait */
	ENDING_WALKED,   /* take these samples */
	ENDING_REFS,     /* --live: ask agents which objects are gone */
	ENDING_ANSWERS,  /* wait for the answers */
	ENDING_SOURCES,  /* close the events */
	ENDING_UNWALKED, /* wait for unwind rows */
	ENDING_NAMES,    /* wait for names */
};

struct recording {
	struct node *node;
	struct recording_options options;
	struct sink_model model;
	enum recording_state state;
	enum ending ending;
	int error;
	u64 step_ns; /* when the step of RECORDING_ENDS began */
	struct programs *bpf;
	struct sources *sources;
	struct receiver *receiver;
	struct parcel *arrived, *taken; /* hold its records in the node's `inbox` and `turn` */
	struct samples samples;
	struct unwalked_samples unwalked_samples;
	VEC(struct sample *) pending; /* of threads that waited at the end */
	struct agent_hooks hooks;     /* what events need from agents */
	bool needs_hooks;
	/* a process may have become a target without fork or exec: ask the kernel */
	bool has_new_targets;
	struct loss_counts before; /* at recording_start */
	u64 began_ns, worked_ns;   /* at recording_new */
	u64 set_up_ns, set_up_worked_ns;
	u64 started_ns, first_sample_ns;
	u64 settled_ns;        /* every sample until this time is in its cut */
	struct span window;    /* TIME_NEVER: not begun, no end */
	u64 nr_denied;         /* samples of containers that opted out */
	struct dict jvms_seen; /* JVMs among the targets that the node still knows */
	u32 nr_jvms_gone;      /* the others */
};

/* Reads all counters that are not counts of samples. */
void recording_losses(const struct recording *r, struct loss_counts *out);

/* The run time of the recording's BPF programs so far; 0 unless the kernel measures it. */
u64 recording_run_ns(const struct recording *r);

/*
 * Call it when the recording is done, or freed earlier. Counts its cost for the node, and drops
 * records that still wait.
 */
void recording_leave(struct recording *r);

/* recording_step.c: the steps in which a recording begins and ends, for node.c. */

/* Advances the recording. Call it after everything that had arrived was taken in. */
void recording_step(struct recording *r);

/* Follows control groups and leaks; call it once a second. */
void recording_follow(struct recording *r);

/*
 * Gives the services of all processes to the selectors, if they need them. Returns whether that may
 * have changed which processes are targets.
 */
bool recording_find_services(struct recording *r);

/*
 * recording_apply.c: the recording's window. Every event samples in the same window. The profile's
 * duration is that of the window, and its time 0 is the window's begin.
 */

/* Begins the window now. With --wait-for it begins when the program is executed. */
void recording_open_window(struct recording *r);

/* Begins the window at `begin_ns`, when the awaited program was executed. */
void recording_begin_window(struct recording *r, u64 begin_ns);

/* Ends the window. */
void recording_close_window(struct recording *r);

/*
 * Whether a sample of that time counts. A wait that lasts beyond the end has the end as its time.
 */
bool recording_window_holds(const struct recording *r, u64 time_ns);
