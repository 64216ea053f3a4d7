/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's view of aggregators (fleet/aggregator.h). Each gets sets of nodes; a set of one
 * that falls silent goes to another, or is fetched by the controller itself.
 */
#pragma once

#include "fleet/gather.h"

#define AGGREGATORS_FROM   64 /* nodes; fewer are merged by the controller */
#define AGGREGATOR_TASKS   2  /* sets at a time */
#define AGGREGATOR_DEAD_MS 4000

struct aggregators_host {
	void *ctx;
	void (*publish)(void *ctx, const char *subject, const char *reply, const void *bytes,
			size_t len);
	/* The outcome of a set (merge_parse). Negative errno: it is lost. */
	int (*deliver)(void *ctx, const void *bytes, size_t len);
};

struct aggregator_peer {
	char name[64], zone[128];
	u64 instance, heard_ns;
	u32 nr_tasks;
	bool is_dead;
};

struct aggregator_task {
	u8 id[FLEET_ID_LEN];
	struct aggregator_peer *peer;
	struct gather_node *nodes[FLEET_TASK_NODES];
	u32 nr_nodes;
	struct pull pull;
	bool is_pulled, is_over;
	u64 begun_ns;
};

struct aggregators {
	const struct aggregators_host *host;
	struct pulls_host pulls_host;
	struct pulls pulls;
	struct gather *gather;
	u32 share_ppb;
	bool keeps_nodes;
	u8 id[FLEET_ID_LEN]; /* of the census */
	VEC(struct aggregator_peer *) peers;
	VEC(struct aggregator_task *) tasks;
	u64 now_ns, waits_ns; /* results have waited for a full set since */
};

/* `id` is that of the census, by which they answer. */
void aggregators_init(struct aggregators *a, const struct aggregators_host *host, struct gather *g,
		      const u8 *id);
void aggregators_fini(struct aggregators *a);

/* ANSWER, ALIVE, MERGED and CHUNK; others are ignored. */
void aggregators_take(struct aggregators *a, const struct fleet_message *m);

/* Hands out sets, and takes back those of dead aggregators. `all`: also sets that are not full. */
void aggregators_step(struct aggregators *a, bool all, u64 now_ns);

size_t aggregators_alive(const struct aggregators *a);
