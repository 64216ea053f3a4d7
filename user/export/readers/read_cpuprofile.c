/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads .cpuprofile files, which Chrome's developer tools and `node --cpu-prof` write: a tree of
 * nodes, the node of each sample, and the microseconds between samples. Source: Profiler.Profile of
 * the Chrome DevTools Protocol.
 * Part of export/readers/json_tables.h.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/format/section.h"
#include "export/interchange/external.h"
#include "export/readers/json_tables.h"

struct cpuprofile {
	const json_t *nodes, *samples, *deltas;
	struct profile *p;
	struct str *why;
	struct stack_adder *stacks;
	struct dict by_id; /* id of a node -> its index + 1 */
	u32 *parents;      /* index of the parent + 1; 0: a root */
	node_id *ours;     /* by index; NODE_NONE: not added yet */
	u32 type_samples, type_time;
	labels_id labels;
};

static int refuse(struct cpuprofile *c, const char *fault)
{
	str_add(c->why, fault);
	return -EINVAL;
}

/* The index of the node with that id; -1 if no node has it. */
static s64 find(const struct cpuprofile *c, const json_t *id)
{
	const u64 *index =
		json_is_integer(id) ? dict_find(&c->by_id, (u64)json_integer_value(id)) : NULL;

	return index ? (s64)*index - 1 : -1;
}

static int read_tree(struct cpuprofile *c)
{
	const json_t *node, *child;
	size_t i, k;

	json_array_foreach(c->nodes, i, node)
	{
		const json_t *id = json_object_get(node, "id");
		if (!json_is_integer(id) || find(c, id) >= 0)
			return refuse(c, "a node has no id, or two have the same");
		*dict_add(&c->by_id, (u64)json_integer_value(id)) = i + 1;
	}
	json_array_foreach(c->nodes, i, node)
	{
		/* Newer files have parents, older ones children. */
		s64 parent = find(c, json_object_get(node, "parent"));
		if (parent >= 0)
			c->parents[i] = (u32)parent + 1;
		json_array_foreach(json_object_get(node, "children"), k, child)
		{
			s64 at = find(c, child);
			if (at < 0)
				return refuse(c, "a node has a child that does not exist");
			c->parents[at] = (u32)i + 1;
		}
	}
	return 0;
}

static frame_id frame_of(struct cpuprofile *c, const json_t *node)
{
	const json_t *frame = json_object_get(node, "callFrame");
	const char *name = json_text(frame, "functionName"), *url = json_text(frame, "url");
	s64 line = json_index(json_object_get(frame, "lineNumber"), UINT32_MAX - 1);
	/* Their lines count from 0. */
	struct source_line source = { .file = url, .line = *url && line >= 0 ? (u32)line + 1 : 0 };

	return frame_from_external(c->p, *name ? name : "(anonymous)", "", "", false, source);
}

/* Our node for theirs. The tree's root has no frame. */
static int node_at(struct cpuprofile *c, u32 index, node_id *out)
{
	VEC(u32) path = { 0 };
	u32 at = index + 1;

	while (at && c->ours[at - 1] == NODE_NONE && path.nr <= FORMAT_DEPTH_MAX) {
		vec_push(&path, at - 1);
		at = c->parents[at - 1];
	}
	bool is_too_deep = path.nr > FORMAT_DEPTH_MAX;
	node_id node = at && !is_too_deep ? c->ours[at - 1] : 0;
	while (path.nr && !is_too_deep) {
		u32 next = path.at[--path.nr];
		if (c->parents[next])
			node = profile_child(c->p, node,
					     frame_of(c, json_array_get(c->nodes, next)));
		c->ours[next] = node;
	}
	vec_fini(&path);
	*out = node;
	return is_too_deep ? refuse(c, "a node has more than 65,535 callers, or is its own") : 0;
}

static int add(struct cpuprofile *c, s64 index, u32 type, s64 value)
{
	auto_str struct str why = { 0 };
	node_id node;

	if (index < 0)
		return refuse(c, "a sample has a node that does not exist");
	int err = node_at(c, (u32)index, &node);
	if (err || !value)
		return err;
	err = stack_add(c->stacks, node, c->labels, type, value, &why);
	return err ? refuse(c, why.at) : 0;
}

/* A sample lasts until the next one: its time is the delta before that one. */
static int read_samples(struct cpuprofile *c)
{
	const json_t *id;
	size_t i;

	json_array_foreach(c->samples, i, id)
	{
		const json_t *delta = json_array_get(c->deltas, i + 1);
		s64 index = find(c, id), ns = delta ? json_scaled(delta, 1e3) : 0;
		/* The deltas of threads that were moved between CPUs may be negative. */
		int err = add(c, index, c->type_samples, 1)
				  ?: add(c, index, c->type_time, ns > 0 ? ns : 0);
		if (err)
			return err;
	}
	return 0;
}

static int read_hits(struct cpuprofile *c)
{
	const json_t *node;
	size_t i;

	json_array_foreach(c->nodes, i, node)
	{
		s64 hits = json_scaled(json_object_get(node, "hitCount"), 1);
		int err = hits > 0 ? add(c, (s64)i, c->type_samples, hits) : 0;
		if (err)
			return err;
	}
	return 0;
}

bool cpuprofile_is(const json_t *all)
{
	return json_object_get(json_array_get(json_object_get(all, "nodes"), 0), "callFrame");
}

int cpuprofile_read(const json_t *all, struct stack_adder *stacks, struct str *why)
{
	struct cpuprofile c = { .nodes = json_object_get(all, "nodes"),
				.samples = json_object_get(all, "samples"),
				.deltas = json_object_get(all, "timeDeltas"),
				.p = stacks->p,
				.why = why,
				.stacks = stacks };
	size_t nr = json_array_size(c.nodes);

	c.parents = xcalloc(nr, sizeof(c.parents[0]));
	c.ours = xcalloc(nr, sizeof(c.ours[0]));
	for (size_t i = 0; i < nr; i++)
		c.ours[i] = NODE_NONE;
	c.type_samples = profile_find_type(c.p, "cpu", "samples");
	c.labels = profile_intern_labels(c.p, &(struct labels){ 0 });
	bool has_samples = json_array_size(c.samples);
	if (has_samples)
		c.type_time = profile_find_type(c.p, "time", "ns");
	int err = read_tree(&c);

	if (!err)
		err = has_samples ? read_samples(&c) : read_hits(&c);
	dict_fini(&c.by_id);
	free(c.parents);
	free(c.ours);
	return err;
}
