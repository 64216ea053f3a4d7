/* SPDX-License-Identifier: Apache-2.0 */
/* Where a sample stands in the profile. */
#include "capture/levels.h"

#include "base/str.h"

static node_id group(struct levels *l, node_id parent, const char *name)
{
	return profile_child(l->profile, parent, symbolizer_group(l->symbolizer, name));
}

static const char *const state_names[NR_STATES] = {
	[STATE_RUNNING] = "[running]",   [STATE_RUNNABLE] = "[runnable]",
	[STATE_SLEEPING] = "[sleeping]", [STATE_DISK] = "[disk]",
	[STATE_STOPPED] = "[stopped]",   [STATE_IDLE] = "[idle]",
};

node_id levels_node(struct levels *l, const struct process *p, const struct sample *sample,
		    bool by_state)
{
	const char *state = sample->state < NR_STATES ? state_names[sample->state] : NULL;
	auto_str struct str name = { 0 };
	node_id node = 0;

	if (l->by_process) {
		str_addf(&name, "%s-%d", p->comm, (int)p->pid);
		node = group(l, node, name.at);
	}
	return by_state && state ? group(l, node, state) : node;
}

labels_id levels_labels(struct levels *l, const struct process *p, const struct sample *sample)
{
	const struct labels labels = {
		.pid = sample->task.pid,
		.tid = sample->task.tid,
		.comm = p->comm,
		.thread = sample->comm,
	};

	return profile_intern_labels(l->profile, &labels);
}
