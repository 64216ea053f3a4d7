/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of memory, held back until it is known whether the memory was freed: what is left at the
 * end leaked. A sample is named by when and in which thread it was taken.
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

struct held_sample {
	struct held_weight weight;
	u64 time_ns;
	u64 key;
	bool is_named; /* weight is there */
	bool is_freed;
};

struct held {
	struct dict by_key; /* -> index in samples */
	VEC(struct held_sample) samples;
};

/* A sample was taken. */
void held_begin(struct held *h, u32 tid, u64 time_ns);

/* It has its names; only now it can be added. */
void held_name(struct held *h, u32 tid, u64 time_ns, const struct held_weight *weight);

/* Its memory was freed. */
void held_free(struct held *h, u32 tid, u64 time_ns);

/* Adds a sample at once. */
void held_weigh(const struct held_weight *w, struct profile *profile);

/* Adds what is not freed to the profile. */
void held_release(struct held *h, u64 ended_ns, struct profile *profile);
void held_fini(struct held *h);
