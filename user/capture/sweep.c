/* SPDX-License-Identifier: Apache-2.0 */
/* Once a minute: finds changes that no event reports. */
#include "capture/sweep.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "capture/node_state.h"
#include "capture/recording_state.h"

/* A larger table of frames is swept, unless it has grown little since the last sweep. */
#define FRAMES_BYTES (32u << 20)

struct visit {
	struct node *node;
	u64 now_ns;
};

static void end_lost(struct process *p, void *ctx)
{
	const struct visit *v = ctx;

	node_apply_lost_exit(v->node, p, v->now_ns);
}

static void keep_container(struct process *p, void *ctx)
{
	(void)ctx;
	containers_keep(p->container);
}

/*
 * Frees the frames that neither a profile nor a waiting sample nor a cache refers to. The others
 * keep their ids.
 */
static void sweep_frames(struct node *n)
{
	bool *is_used = xcalloc(frames_nr(n->frames) + 1ul, sizeof(is_used[0]));

	vec_each(r, &n->recordings)
		samples_mark_frames(&(*r)->samples, is_used);
	symbolizer_mark(n->symbolizer, is_used);
	symbolizer_sweep(n->symbolizer, is_used);
	frames_sweep(n->frames, is_used);
	n->swept_frames_bytes = frames_bytes(n->frames);
	free(is_used);
}

void sweep_if_full(struct node *n)
{
	if (frames_bytes(n->frames) > FRAMES_BYTES + 2 * n->swept_frames_bytes)
		sweep_frames(n);
}

void node_each_cache(const struct node *n, cache_use_fn visit, void *ctx)
{
	const struct cache_use own[] = {
		{ "frames", frames_nr_kept(n->frames), frames_bytes(n->frames),
		  FRAMES_BYTES + 2 * n->swept_frames_bytes },
		{ "processes", processes_nr(n->processes), processes_bytes(n->processes),
		  MAPPING_BLOCKS_BYTES },
		{ "containers", containers_nr(n->containers), containers_bytes(n->containers),
		  CONTAINERS_BYTES },
		{ "requests", requests_nr(n->requests), requests_bytes(n->requests),
		  REQUEST_BYTES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		visit(&own[i], ctx);
	symbolizer_each_cache(n->symbolizer, visit, ctx);
	unwinding_each_cache(n->unwinding, visit, ctx);
	agents_each_cache(n->agents, visit, ctx);
	jvm_registry_each_cache(n->jvms, visit, ctx);
}

void sweep(struct node *n, u64 now_ns)
{
	struct visit v = { n, now_ns };

	processes_find_lost(n->processes, end_lost, &v);
	processes_each(n->processes, keep_container, NULL);
	containers_sweep(n->containers);
	symbolizer_turn(n->symbolizer);
	unwinding_turn(n->unwinding);
	workers_turn(n->workers);
	vec_each(r, &n->recordings)
		sources_turn((*r)->sources);
	sweep_frames(n);
}
