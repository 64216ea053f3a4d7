/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of memory, held back until it is known whether the memory was freed. Memory that is still
 * live when its process or the recording ends has leaked. Time and thread id identify a sample.
 * Reports of freed memory are lost while the kernel's ring is full. Therefore
 * only memory that is also in the kernel's map of live memory counts as leaked.
 */
#pragma once

#include "abi.h"
#include "base/dict.h"
#include "base/vec.h"
#include "capture/samples/cut.h"

/* The contribution of a sample to a cut. */
struct live_alloc_weight {
	node_id node;
	labels_id labels;
	u32 type;
	u64 value;
	bool has_samples;              /* the type after `type` counts samples */
	u64 count;                     /* value for the event's last type; 0: no such type */
	u64 age_ns;                    /* memory younger than this at the end does not count */
	u16 event, stop;               /* of the sample */
	bool is_counted;               /* set in one part of each sample */
	const struct request *request; /* whose trace it keeps; NULL: none, as in held samples */
};

#define LIVE_ALLOCS_MAX (1u << 21) /* samples; the kernel follows half as many */

struct live_alloc {
	struct live_alloc_weight weight;
	u64 time_ns;
	u64 key;
	/* when its process, and with it the memory, ended; 0: not known to have ended */
	u64 ended_ns;
	pid_t pid;
	bool is_named; /* `weight` is filled in */
	bool is_freed;
	bool is_live; /* the kernel's map contains it */
};

/* The end of a process that had samples. */
struct live_allocs_end {
	u64 time_ns;
	u64 earlier; /* 1 + the index of the previous end with the same PID; 0: none */
};

struct live_allocs {
	struct dict by_key; /* -> index in samples */
	VEC(struct live_alloc) samples;
	struct dict by_pid;               /* running processes: the number of samples begun */
	struct dict last_ends;            /* by pid: 1 + index in ends */
	VEC(struct live_allocs_end) ends; /* since live_allocs_judge */
	u64 nr_ended;                     /* upper limit of the samples of ended processes */
	u64 nr_left_out;                  /* samples for which there was no room */
	u64 nr_begun;                     /* all samples, including those left out */
};

/* Registers a new sample. */
void live_allocs_begin(struct live_allocs *h, pid_t pid, u32 tid, u64 time_ns);

/* Adds the named sample's weight. A sample without it is never added to the cut. */
void live_allocs_name(struct live_allocs *h, u32 tid, u64 time_ns,
		      const struct live_alloc_weight *weight, struct cut *cut);

/* live_allocs_free: the sample's memory was freed. live_allocs_forget: the sample is not wanted. */
void live_allocs_free(struct live_allocs *h, u32 tid, u64 time_ns);
void live_allocs_forget(struct live_allocs *h, u32 tid, u64 time_ns);

/* The process has ended or executes another program, and its memory is gone. */
void live_allocs_end(struct live_allocs *h, pid_t pid, u64 time_ns);

/*
 * Whether enough samples have ended since live_allocs_judge to make a walk through the kernel's map
 * worthwhile.
 */
bool live_allocs_is_due(const struct live_allocs *h);

/*
 * Call it for each entry of the kernel's map. Returns true if the entry's process has ended and the
 * entry can be deleted.
 */
bool live_allocs_lives(struct live_allocs *h, pid_t pid, u32 tid, u64 time_ns);

/* After the walk: adds the leaks of ended processes to the cut and forgets these processes. */
void live_allocs_judge(struct live_allocs *h, struct cut *cut);

/* Adds a sample to the cut at once. */
void live_allocs_weigh(const struct live_alloc_weight *w, struct cut *cut);

/* After the last walk, when recording ends: adds the leaks of all processes. */
void live_allocs_release(struct live_allocs *h, u64 ended_ns, struct cut *cut);
void live_allocs_fini(struct live_allocs *h);
