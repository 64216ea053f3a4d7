/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An aggregator: fetches and merges the results of a set of nodes for a controller, which then
 * fetches one profile instead of hundreds. It keeps nothing: if it ends, another gets its sets.
 *
 * With keys it works only for their owners: it answers the census of a known key alone, and takes a
 * task only with the secret whose hash that census signed.
 *
 *   TASK -> GET, CHUNK of each node -> merge in a worker -> MERGED -> GET, CHUNK
 */
#pragma once

#include "fleet/key.h"
#include "fleet/message.h"
#include "worker/workers.h"

#define AGGREGATOR_WORK_MAX 8   /* sets at a time, of all controllers */
#define AGGREGATOR_KEEP_S   120 /* a merged profile waits so long */

struct aggregator_host {
	void *ctx;
	u64 (*mono_ns)(void *ctx);
	void (*publish)(void *ctx, const char *subject, const char *reply, const void *bytes,
			size_t len);
	struct workers *workers;       /* NULL: profiles are merged in this process */
	const char *inbox;             /* "_INBOX.NAME.x" */
	const struct fleet_keys *keys; /* may change; NULL: whoever may publish on NATS can give it
					  work */
};

struct aggregator;

/* `labels`: "zone=a"; may be "". The host must outlive it. NULL: there are no random numbers. */
struct aggregator *aggregator_new(const char *name, const char *labels,
				  const struct aggregator_host *host);
void aggregator_free(struct aggregator *a);

/* The subjects that it listens to; NULL after the last. */
const char *aggregator_subject(const struct aggregator *a, u32 i);

/* A message on one of its subjects, or below its inbox. */
void aggregator_message(struct aggregator *a, const char *subject, const char *reply,
			const void *bytes, size_t len);

/* Goes on; call it after messages, and some times a second. */
void aggregator_step(struct aggregator *a);

struct aggregator_counts {
	u64 nr_sets, nr_results, nr_failed, nr_refused;
};

struct aggregator_counts aggregator_counts(const struct aggregator *a);
