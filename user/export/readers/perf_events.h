/* SPDX-License-Identifier: Apache-2.0 */
/* The value types of the events in the output of `perf script`. Private to read_perf.c. */
#pragma once

#include "export/interchange/external.h"

struct perf_type {
	char *event; /* owned, with its modifier: "cycles:u" */
	bool has_period;
	bool is_count; /* of the samples, beside the type of their periods */
};

/*
 * The types of one file are the last ones of the profile until perf_events_settle. By then it is
 * known which events differ by their modifier only.
 */
struct perf_events {
	struct profile *p;
	u32 first; /* the first type of this file */
	VEC(struct perf_type) types;
};

void perf_events_init(struct perf_events *e, struct profile *p);
void perf_events_fini(struct perf_events *e);

/* The index of a type in the profile, added if missing. */
u32 perf_events_find(struct perf_events *e, const char *event, bool has_period, bool is_count);

/*
 * Names the types: an event keeps its modifier if another one has the same name without it. Adds
 * the weights of types that earlier files have, too, to theirs. -EINVAL and a sentence if a sum is
 * too large.
 */
int perf_events_settle(struct perf_events *e, struct stack_adder *stacks, struct str *why);
