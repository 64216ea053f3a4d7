/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups that selectors refer to. */
#include "capture/targets/target_groups.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/kernel/programs.h"
#include "proc/container.h"

#define NO_SUBSYSTEM (CGROUP_UNIFIED - 1) /* a hierarchy without controllers: systemd's own */

/*
 * Checking control groups takes at most one part in LOOK_SHARE of the time. Whoever may create them
 * can create very many.
 */
#define LOOK_SHARE 10

#define FIRST_LOOK_NS (5 * NS_PER_SEC) /* for names of containers, before recording begins */

struct group {
	struct cgroup_key key;
	u32 mask;
};

struct group_list {
	VEC(struct group) all;
};

struct target_groups {
	struct containers *containers;
	struct cgroup_mounts mounts;
	VEC(u32) subsystems;      /* by mount: cgroup_key.subsys */
	struct group_list in_map; /* the groups that BPF knows */
	bool has_looked, has_too_many;
	u64 rests_until_ns;
	u32 nr_hierarchies, hierarchies[KNOBS_HIERARCHIES]; /* of the knobs */
};

/*
 * `name` is for example "memory_cgrp_id". Groups of hierarchies with the controller can be looked
 * up in BPF.
 */
static void take_subsystem(const char *name, s32 value, void *ctx)
{
	struct target_groups *g = ctx;
	const char *end = strstr(name, "_cgrp_id");
	bool is_io = !strcmp(name, "io_cgrp_id"); /* version 1 calls it blkio */
	auto_free char *option = xasprintf(",%.*s,", is_io ? 5 : (int)(end ? end - name : 0),
					   is_io ? "blkio" : name);

	for (size_t i = 0; end && i < g->mounts.all.nr; i++)
		if (!g->mounts.all.at[i].is_unified && strstr(g->mounts.all.at[i].options, option))
			g->subsystems.at[i] = (u32)value;
}

struct target_groups *target_groups_new(struct containers *containers)
{
	struct target_groups *g = xcalloc(1, sizeof(*g));

	g->containers = containers;
	/* Without mounts no group is ever found; each one is then logged as missing. */
	cgroup_mounts_read(&g->mounts);
	vec_each(m, &g->mounts.all)
		vec_push(&g->subsystems, m->is_unified ? CGROUP_UNIFIED : NO_SUBSYSTEM);
	if (g->mounts.all.nr && !g->mounts.all.at[g->mounts.all.nr - 1].is_unified)
		programs_kernel_enumerators("cgroup_subsys_id", take_subsystem, g);
	return g;
}

void target_groups_free(struct target_groups *g)
{
	if (!g)
		return;
	cgroup_mounts_fini(&g->mounts);
	vec_fini(&g->subsystems);
	vec_fini(&g->in_map.all);
	free(g);
}

static struct group *find(struct group_list *list, const struct cgroup_key *key)
{
	vec_each(one, &list->all)
		if (one->key.id == key->id && one->key.subsys == key->subsys)
			return one;
	return NULL;
}

static void add(struct group_list *list, u64 id, u32 subsys, u32 mask)
{
	struct group new = { { .id = id, .subsys = subsys }, mask };
	struct group *old = find(list, &new.key);

	if (old)
		old->mask |= mask;
	else if (list->all.nr < TARGET_CGROUPS_MAX)
		vec_push(&list->all, new);
}

static bool add_path(const struct target_groups *g, const struct selector *s,
		     struct group_list *out)
{
	u64 id;
	const struct cgroup_mount *m = cgroup_find(&g->mounts, s->text, &id);
	u32 subsys = m ? g->subsystems.at[m - g->mounts.all.at] : NO_SUBSYSTEM;

	if (subsys != NO_SUBSYSTEM)
		add(out, id, subsys, s->mask);
	return subsys != NO_SUBSYSTEM;
}

/* A walk through the control groups of one hierarchy, for containers. */
struct search {
	struct target_groups *groups;
	struct selectors *selectors;
	struct group_list *found;
	char pod_uid[POD_UID_LEN + 1]; /* uid of the pod whose group the walk is in */
	int pod_depth;
	u32 subsys;
};

static bool selects(const struct selector *s, const struct container *c)
{
	return (s->kind == TARGET_CONTAINER && container_matches(c, s->text)) ||
	       (s->kind == TARGET_POD && container_matches_pod(c, s->text));
}

static void look_at(const char *name, int depth, u64 id, void *ctx)
{
	struct search *search = ctx;
	char container_id[CONTAINER_ID_LEN + 1];

	if (depth <= search->pod_depth)
		search->pod_uid[0] = '\0';
	if (cgroup_pod_parse(name, search->pod_uid))
		search->pod_depth = depth;
	if (!cgroup_container_parse(name, container_id))
		return;
	const struct container *c =
		containers_find(search->groups->containers, container_id, search->pod_uid);
	if (!c) {
		search->groups->has_too_many = true;
		return;
	}
	vec_each(s, &search->selectors->all) {
		if (!selects(s, c))
			continue;
		add(search->found, id, search->subsys, s->mask);
		s->is_absent = false;
	}
}

static bool is_about_containers(const struct selector *s)
{
	return s->kind == TARGET_CONTAINER || s->kind == TARGET_POD;
}

/* Searches hierarchies of version 1 only for containers that version 2 does not have. */
static void look_for_containers(struct target_groups *g, struct selectors *selectors,
				struct group_list *out)
{
	for (size_t i = 0; i < g->mounts.all.nr; i++) {
		struct search search = { g, selectors, out, "", 0, g->subsystems.at[i] };
		bool is_any_absent = false;
		vec_each(s, &selectors->all)
			is_any_absent |= is_about_containers(s) && s->is_absent;
		if (is_any_absent && search.subsys != NO_SUBSYSTEM)
			cgroup_each(&g->mounts.all.at[i], look_at, &search);
	}
}

bool target_groups_are_known(const struct target_groups *g)
{
	return containers_are_reported(g->containers);
}

const char *target_groups_kind(const struct selector *s)
{
	return s->kind == TARGET_POD         ? "pod"
	       : s->kind == TARGET_CONTAINER ? "container"
					     : "control group";
}

static void warn_if_absent(const struct target_groups *g, const struct selector *s, bool was_absent)
{
	bool is_first = !g->has_looked;

	if (s->is_absent && is_first && is_about_containers(s) &&
	    !containers_are_reported(g->containers))
		log_warn("no %s %s is known yet, because some names of containers are missing; it "
			 "counts once it is known",
			 target_groups_kind(s), s->text);
	else if (s->is_absent && is_first)
		log_warn("there is no %s %s; it counts once there is", target_groups_kind(s),
			 s->text);
	else if (s->is_absent && !was_absent)
		log_warn("the %s %s is gone; it counts again once it is back",
			 target_groups_kind(s), s->text);
	else if (was_absent && !s->is_absent && !is_first)
		log_info("the %s %s is there", target_groups_kind(s), s->text);
}

static void look(struct target_groups *g, struct selectors *selectors, struct group_list *out)
{
	vec_each(s, &selectors->all) {
		if (s->kind == TARGET_CGROUP || s->kind == TARGET_WITHIN)
			s->is_absent = !add_path(g, s, out);
		else
			s->is_absent = is_about_containers(s);
	}
	look_for_containers(g, selectors, out);
	vec_each(s, &selectors->all)
		s->was_found |= !s->is_absent;
}

static void use_hierarchy(struct knobs *knobs, u32 subsys)
{
	for (u32 i = 0; i < knobs->nr_hierarchies; i++)
		if (knobs->hierarchies[i] == subsys)
			return;
	if (subsys != NO_SUBSYSTEM && knobs->nr_hierarchies < KNOBS_HIERARCHIES)
		knobs->hierarchies[knobs->nr_hierarchies++] = subsys;
}

void target_groups_configure(struct target_groups *g, struct selectors *selectors,
			     struct knobs *knobs)
{
	struct group_list found = { 0 };
	bool is_any_absent = false;

	containers_set_credit(g->containers, FIRST_LOOK_NS);
	look(g, selectors, &found);
	containers_set_credit(g->containers, 0);
	vec_each(one, &found.all)
		use_hierarchy(knobs, one->key.subsys);
	vec_fini(&found.all);
	vec_each(s, &selectors->all)
		is_any_absent |= s->is_absent;
	if (is_any_absent)
		vec_each(subsys, &g->subsystems)
			use_hierarchy(knobs, *subsys);
	g->nr_hierarchies = knobs->nr_hierarchies;
	memcpy(g->hierarchies, knobs->hierarchies, sizeof(g->hierarchies));
}

/* As bits, by index in knobs.hierarchies. */
static u32 hierarchies_of(const struct target_groups *g)
{
	u32 mask = 0;

	vec_each(one, &g->in_map.all)
		for (u32 i = 0; i < g->nr_hierarchies; i++)
			mask |= g->hierarchies[i] == one->key.subsys ? 1u << i : 0;
	return mask;
}

static void update_map(struct target_groups *g, struct group_list *now, int fd)
{
	vec_each(old, &g->in_map.all)
		if (!find(now, &old->key))
			bpf_map_delete_elem(fd, &old->key);
	vec_each(one, &now->all) {
		const struct group *old = find(&g->in_map, &one->key);
		if (!old || old->mask != one->mask)
			bpf_map_update_elem(fd, &one->key, &one->mask, BPF_ANY);
	}
	vec_fini(&g->in_map.all);
	g->in_map = *now;
}

u32 target_groups_follow(struct target_groups *g, struct selectors *selectors, int map_fd)
{
	struct group_list now = { 0 };
	auto_free bool *were_absent = xcalloc(selectors->all.nr + 1, sizeof(bool));
	bool had_too_many = g->has_too_many;
	u64 began_ns = time_mono_ns();

	if (began_ns < g->rests_until_ns)
		return hierarchies_of(g);
	for (size_t i = 0; i < selectors->all.nr; i++)
		were_absent[i] = selectors->all.at[i].is_absent;
	look(g, selectors, &now);
	for (size_t i = 0; i < selectors->all.nr; i++)
		warn_if_absent(g, &selectors->all.at[i], were_absent[i]);
	g->has_looked = true;
	g->has_too_many |= now.all.nr == TARGET_CGROUPS_MAX;
	if (g->has_too_many && !had_too_many)
		log_warn("there are too many control groups that look like containers: not all are "
			 "checked");
	update_map(g, &now, map_fd);
	g->rests_until_ns = time_mono_ns() + LOOK_SHARE * (time_mono_ns() - began_ns);
	return hierarchies_of(g);
}
