/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that lack names which an agent may tell a moment later. What could be named was named at
 * once: a JVM's memory tells what stands somewhere now, and that changes.
 */
#pragma once

#include "abi.h"
#include "capture/events.h"
#include "sym/symbolize.h"

struct waiting_sample {
	struct sample head;
	struct sample_weight weight;
	frame_list frames; /* with placeholders */
	unnamed_list unnamed;
};

struct waiting {
	VEC(struct waiting_sample) samples;
	size_t bytes; /* that the lists take */
};

/* Takes the lists over and leaves empty ones. */
void waiting_add(struct waiting *w, const struct sample *head, struct sample_weight weight,
		 frame_list *frames, unnamed_list *unnamed);

/*
 * Calls `retry` for every sample, in the order of arrival, and forgets those for which it returns
 * true.
 */
typedef bool (*waiting_retry_fn)(struct waiting_sample *sample, void *ctx);
void waiting_retry(struct waiting *w, waiting_retry_fn retry, void *ctx);
void waiting_fini(struct waiting *w);
