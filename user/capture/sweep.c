/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for what no event reports. */
#include "capture/sweep.h"

#include "capture/node_apply.h"
#include "capture/node_state.h"

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

void sweep(struct node *n, u64 now_ns)
{
	struct visit v = { n, now_ns };

	processes_find_lost(n->processes, end_lost, &v);
	processes_each(n->processes, keep_container, NULL);
	containers_sweep(n->containers);
}
