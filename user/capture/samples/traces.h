/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of a cut's samples. Each trace makes label sets of its own, of which there may be
 * millions. Weights with a trace are therefore kept apart until the cut is complete. There is room
 * for TRACES_MAX of them; the oldest then lose their trace.
 */
#pragma once

#include "base/vec.h"
#include "capture/samples/requests.h"
#include "profile/profile.h"

#define TRACE_BYTES  512 /* that a weight with a trace takes in the complete profile */
#define TRACES_BYTES (64u << 20)
#define TRACES_MAX   (TRACES_BYTES / TRACE_BYTES)

struct traced_weight {
	struct weight weight; /* its labels have no trace */
	u8 trace[REQUEST_TRACE_BYTES], span[REQUEST_SPAN_BYTES];
	bool is_sample; /* set in one weight of each sample */
};

/* {0} is empty. */
struct traces {
	VEC(struct traced_weight) ring; /* at most TRACES_MAX */
	size_t oldest;                  /* its index once the ring is full */
	u64 nr_dropped;                 /* samples that lost their trace */
};

/* Keeps a weight of a sample with that request. The oldest one may go into the profile instead. */
void traces_add(struct traces *t, struct profile *p, const struct weight *w,
		const struct request *request, bool is_sample);

/* As profile_change_weights, for the weights that are kept. */
void traces_change(struct traces *t, weight_fn change, void *ctx);

/* Adds all weights, with their traces, to the profile. Leaves none. */
void traces_release(struct traces *t, struct profile *p);
void traces_fini(struct traces *t);
