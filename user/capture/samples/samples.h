/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on their way into the profiles of a recording. Each gets names for its frames and its
 * place in the trees. A sample without a name waits for the agent's report. Samples of memory wait
 * until it is known whether the memory was freed.
 */
#pragma once

#include "abi.h"
#include "base/time.h"
#include "capture/events/events.h"
#include "capture/events/sources.h"
#include "capture/samples/live_allocs.h"
#include "capture/samples/raw_stack.h"
#include "capture/samples/requests.h"
#include "capture/samples/sink.h"
#include "capture/samples/virtual_waits.h"
#include "proc/process.h"
#include "sym/symbolize.h"

/*
 * An attach and the replay of its code take at most this long. Samples wait this long for an
 * agent's names.
 */
#define AGENT_PENDING_NS (3 * NS_PER_SEC)

/* Frames with names of a virtual thread that waits, each 0 if there is none. */
struct named_wait {
	frame_id thread;   /* a group with its name; 0: it is a thread of the kernel */
	frame_id lock;     /* a class, see struct virtual_thread */
	frame_id owner;    /* a group with the name of the thread that has the lock */
	frame_id executor; /* a group with the name of its executor */
};

/*
 * A sample that lacks names which an agent may report a moment later. All other frames are named at
 * once, because the contents of a JVM's memory change.
 */
struct unnamed_sample {
	struct sample head;
	char comm[PROCESS_COMM_LEN]; /* of the process: it may execute another program meanwhile */
	u64 program_ns;              /* the same */
	const struct event *event;
	struct sample_weight weight;
	u32 stop;             /* see quality_stop */
	bool leaf_is_inexact; /* see symbolizer_leaf_is_inexact */
	bool is_approximate;  /* see raw_stack_is_approximate */
	struct named_wait wait;
	struct request request;
	/* own copies of the request's texts while it waits */
	char *tags[REQUEST_ATTRIBUTES + 1];
	frame_list frames; /* with placeholders */
	unnamed_list unnamed;
};

struct samples {
	/* These pointers are set by the recording, which owns the objects. */
	struct sources *sources;
	struct agents *agents;
	struct processes *processes;
	struct jvm_registry *jvms;
	struct symbolizer *symbolizer;
	struct frames *frames;
	struct requests *requests;
	VEC(struct sink *) sinks;
	u64 begin_ns;  /* of the recording's window */
	bool are_held; /* until it is known whether their memory was freed */

	struct live_allocs live_allocs; /* for the only cut of the only sink */
	struct monitorwaits monitorwaits;
	struct {
		VEC(struct unnamed_sample) list; /* in order of arrival */
		size_t bytes;                    /* taken by their lists */
	} waiting;
	struct unnamed_sample current; /* its lists are used again for each sample */
	raw_frames user;               /* of the current sample */
};

void samples_fini(struct samples *s);

/* Sets is_used[id] for every frame of the recording's profiles and waiting samples. */
void samples_mark_frames(const struct samples *s, bool *is_used);

/* The profiles get frames of their own. No sample may follow. */
void samples_own_frames(struct samples *s);

/* The sampled process; creates an entry if it is unknown. */
struct process *samples_process(struct samples *s, const struct sample *sample);

/*
 * Names early the parts of a sample that may be gone when its turn comes. Does nothing if its
 * process is not known.
 */
void samples_foresee(struct samples *s, const struct sample *sample);

/* Takes in a sample of that process. Its stack is complete, or ended at `stop` (quality_stop). */
void samples_take(struct samples *s, struct process *p, const struct event *event,
		  const struct sample *sample, u32 stop);

/* The same for a virtual thread on no carrier. */
void samples_take_virtual(struct samples *s, struct process *p, const struct event *event,
			  const struct virtual_sample *virtual);

/* Retries the samples that lack names, because agents may have reported more. */
void samples_retry(struct samples *s);

/* Whether samples are held until it is known if their memory was freed. There is one sink then. */
bool samples_are_held(const struct samples *s);

/* Adds the leaks of ended processes to the profile. Call it from time to time. */
void samples_judge_ended(struct samples *s);

/* The time of the oldest sample that waits for names; TIME_NEVER if none does. */
u64 samples_oldest_ns(const struct samples *s);

/*
 * Call it after the last sample. Adds all waiting samples. Memory not freed by `ended_ns` has
 * leaked.
 */
void samples_finish(struct samples *s, u64 ended_ns);
