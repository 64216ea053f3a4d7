/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of memory, held back until it is known whether the memory was freed: what is left when
 * its process ends or recording does leaked. A sample is named by when and in which thread it was
 * taken. That memory was freed may not be heard of, when the kernel's ring is full; so what is left
 * has to be in the kernel's map of what lives, too.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "profile/profile.h"

/* What a sample adds to a profile. */
struct held_weight {
	node_id node;
	labels_id labels;
	u32 type;
	u64 value;
	bool has_samples; /* the type behind it counts these */
	u64 count;        /* of the last type; 0: it has none */
	u64 age_ns;       /* what is younger at the end does not count */
};

#define HELD_MAX (1u << 21) /* samples; the kernel follows half as many */

struct held_sample {
	struct held_weight weight;
	u64 time_ns;
	u64 key;
	u64 ended_ns; /* its process, with this memory; 0: not that we know */
	pid_t pid;
	bool is_named; /* weight is there */
	bool is_freed;
	bool is_live; /* the kernel says so */
};

/* Of a process that had samples. */
struct held_end {
	u64 time_ns;
	u64 earlier; /* the one of the same PID before, 1 + its index; 0: none */
};

struct held {
	struct dict by_key; /* -> index in samples */
	VEC(struct held_sample) samples;
	struct dict by_pid;        /* processes that run: how many samples they have begun */
	struct dict last_ends;     /* by pid: 1 + index in ends */
	VEC(struct held_end) ends; /* since held_judge */
	u64 nr_ended;              /* samples of those, at most */
	u64 nr_left_out;           /* samples for which there was no room */
};

/* A sample was taken. */
void held_begin(struct held *h, pid_t pid, u32 tid, u64 time_ns);

/* It has its names; only now it can be added. */
void held_name(struct held *h, u32 tid, u64 time_ns, const struct held_weight *weight,
	       struct profile *profile);

/* Its memory was freed; or it is of no interest. */
void held_free(struct held *h, u32 tid, u64 time_ns);
void held_forget(struct held *h, u32 tid, u64 time_ns);

/* The process has ended or executes another program: all of its memory is gone. */
void held_end(struct held *h, pid_t pid, u64 time_ns);

/* Whether so much has ended since held_judge that a walk through the kernel's map pays. */
bool held_is_due(const struct held *h);

/*
 * The walk: of each entry of the kernel's map. Returns whether the entry is of a process that has
 * ended, and may go.
 */
bool held_lives(struct held *h, pid_t pid, u32 tid, u64 time_ns);

/* After the walk: adds what leaked in processes that have ended to the profile, and forgets them.
 */
void held_judge(struct held *h, struct profile *profile);

/* Adds a sample at once. */
void held_weigh(const struct held_weight *w, struct profile *profile);

/* After the last walk: the same for all processes, as recording ends. */
void held_release(struct held *h, u64 ended_ns, struct profile *profile);
void held_fini(struct held *h);
