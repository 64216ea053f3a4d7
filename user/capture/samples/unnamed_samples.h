/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that lack names which an agent may report a moment later. All other frames are named at
 * once, because the contents of a JVM's memory change.
 */
#pragma once

#include "abi.h"
#include "capture/events/events.h"
#include "proc/process.h"
#include "sym/symbolize.h"

struct unnamed_sample {
	struct sample head;
	char comm[PROCESS_COMM_LEN]; /* of the process: it may execute another program meanwhile */
	u64 program_ns;              /* the same */
	const struct event *event;
	struct sample_weight weight;
	u32 stop;             /* see quality_stop */
	bool leaf_is_inexact; /* see symbolizer_leaf_is_inexact */
	bool is_approximate;  /* see raw_stack_is_approximate */
	frame_list frames;    /* with placeholders */
	unnamed_list unnamed;
};

struct unnamed_samples {
	VEC(struct unnamed_sample) samples;
	size_t bytes; /* taken by the lists */
};

/* Takes over the lists of `sample` and leaves empty ones. */
void unnamed_samples_add(struct unnamed_samples *w, struct unnamed_sample *sample);

/*
 * Calls `retry` for every sample, in order of arrival, and forgets those for which it returns true.
 */
typedef bool (*unnamed_samples_retry_fn)(struct unnamed_sample *sample, void *ctx);
void unnamed_samples_retry(struct unnamed_samples *w, unnamed_samples_retry_fn retry, void *ctx);
void unnamed_samples_fini(struct unnamed_samples *w);
