// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Decides which tasks are sampled, anew for each sample. The decision always uses the current
 * process, program, name, user and control group of the task. The masks are those of enum select.
 */
#include "target.h"

/* Bit mask of the knobs.hierarchies that have a group in the map; the others cost nothing. */
u32 target_hierarchies;

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

	if (used & (SELECT_PID | SELECT_JVM | SELECT_SERVICE))
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

/*
 * The masks of a thread's groups in one hierarchy, from its own group up: a group selects
 * everything below it, including groups that are created later. Global: the verifier checks it
 * once. Global functions cannot take a pointer to a kernel struct, so it takes the css_set as a
 * number.
 */
__noinline u32 target_masks_of_groups(u64 css_set, u32 subsys)
{
	struct css_set *set = (void *)css_set;
	struct cgroup *group = NULL;
	u32 masks = 0;

	if (subsys == CGROUP_UNIFIED) {
		group = BPF_CORE_READ(set, dfl_cgrp);
	} else {
		struct cgroup_subsys_state *state = NULL;
		bpf_core_read(&state, sizeof(state), &set->subsys[subsys & 63]);
		group = BPF_CORE_READ(state, cgroup);
	}
	for (u32 i = 0; i < CGROUP_DEPTH && group; i++) {
		struct cgroup_key key = { .id = BPF_CORE_READ(group, kn, id), .subsys = subsys };

		masks |= mask_at(&target_cgroups, &key);
		group = BPF_CORE_READ(group, self.parent, cgroup);
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
	u64 set = (u64)BPF_CORE_READ(task, cgroups);
	for (u32 i = 0; i < KNOBS_HIERARCHIES && i < knobs.nr_hierarchies; i++)
		if (target_hierarchies >> i & 1)
			masks |= target_masks_of_groups(set, knobs.hierarchies[i]);
	return (masks & knobs.include) == knobs.include && !(masks & knobs.exclude);
}
