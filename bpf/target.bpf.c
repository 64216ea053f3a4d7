// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which tasks are sampled, found out anew each time: a process that begins, executes another
 * program, takes another name or user, or is moved to another control group is judged by what it
 * is now. The masks are those of enum select.
 */
#include "target.h"

static __always_inline u32 mask_at(void *map, const void *key)
{
	u32 *mask = bpf_map_lookup_elem(map, key);

	return mask ? *mask : 0;
}

static __always_inline u32 masks_by_process(struct task_struct *task)
{
	const u32 used = knobs.include | knobs.exclude >> SELECT_EXCLUDE_SHIFT;
	struct task_struct *leader = task->group_leader;
	u32 masks = 0, pid = task->tgid;

	if (used & (SELECT_PID | SELECT_JVM))
		masks |= mask_at(&targets, &pid);
	if (used & SELECT_COMM) {
		struct comm_key name = {};
		BPF_CORE_READ_STR_INTO(&name.comm, leader, comm);
		masks |= mask_at(&target_comms, &name);
	}
	if (used & SELECT_USER) {
		u32 uid = leader->real_cred->euid.val;
		masks |= mask_at(&target_users, &uid);
	}
	return masks;
}

/* A group selects all that is below it, so that groups made later are judged right. */
static u32 masks_by_hierarchy(struct task_struct *task, u32 subsys)
{
	struct css_set *set = task->cgroups;
	struct cgroup *group;
	u32 masks = 0;

	if (subsys == CGROUP_UNIFIED) {
		group = set->dfl_cgrp;
	} else {
		struct cgroup_subsys_state *state = set->subsys[subsys];
		group = state ? state->cgroup : NULL;
	}
	for (u32 i = 0; i < CGROUP_DEPTH && group; i++) {
		struct cgroup_key key = { .id = group->kn->id, .subsys = subsys };
		struct cgroup_subsys_state *parent = group->self.parent;

		masks |= mask_at(&target_cgroups, &key);
		group = parent ? parent->cgroup : NULL;
	}
	return masks;
}

__hidden bool target_is_wanted(struct task_struct *task)
{
	u32 masks;

	if (!task->pid)
		return false;
	if (!knobs.include && !knobs.exclude)
		return true;
	masks = masks_by_process(task);
	for (u32 i = 0; i < KNOBS_HIERARCHIES && i < knobs.nr_hierarchies; i++)
		masks |= masks_by_hierarchy(task, knobs.hierarchies[i]);
	return (masks & knobs.include) == knobs.include && !(masks & knobs.exclude);
}
