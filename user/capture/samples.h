/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on their way into the profile: each gets names for its frames and its place in the tree.
 * What lacks a name that an agent may still tell waits for it, and samples of memory wait until it
 * is known whether that was freed.
 */
#pragma once

#include "base/time.h"
#include "capture/events.h"
#include "capture/held.h"
#include "capture/levels.h"
#include "capture/raw.h"
#include "capture/sources.h"
#include "capture/waiting.h"

/* An agent's attach with its replay takes no longer; samples wait so long for its names. */
#define AGENT_PENDING_NS (3 * NS_PER_SEC)

struct samples {
	/* Set by the recording, and its own. */
	const struct events *events;
	struct sources *sources;
	struct agents *agents;
	struct processes *processes;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct levels levels;
	u32 types[ABI_EVENTS]; /* the profile's type of an event, its counts behind it */

	struct held held;
	struct monitorwaits monitorwaits;
	u64 nr_frames, nr_named;
	u64 nr_java, nr_java_named; /* of Java methods, or in a JVM of unknown code */
	u64 nr_approximate;         /* samples of which raw_is_approximate */
	u64 nr_other_threads;       /* samples that levels.thread leaves out */

	struct waiting waiting;
	unnamed_list unnamed; /* these three of the sample in hand */
	frame_list frames;
	raw_frames user;
};

void samples_fini(struct samples *s);

/* The process that was sampled, as it is known or new. */
struct process *samples_process(struct samples *s, const struct sample *sample);

/* Names what of it may be gone when its turn comes, if its process is known. */
void samples_foresee(struct samples *s, const struct sample *sample);

/* Takes one in, of that process; its stack is whole. */
void samples_take(struct samples *s, struct process *p, const struct sample *sample);

/* Tries those again that lack names: agents may have told more. */
void samples_retry(struct samples *s);

/* Takes in what leaked in processes that have ended; call it now and then. */
void samples_judge_ended(struct samples *s);

/*
 * Nothing more comes: lets attaches that are under way finish, so that what was sampled meanwhile
 * gets its names, and adds all that waits. Memory that was not freed by `ended_ns` leaked.
 */
void samples_finish(struct samples *s, u64 ended_ns);
