/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the two profiles of V8. Sources: Profiler.Profile and HeapProfiler.SamplingHeapProfile of
 * the Chrome DevTools Protocol. Part of export/readers/json_tables.h.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/format/section.h"
#include "export/interchange/external.h"
#include "export/readers/json_tables.h"

/*
 * .cpuprofile files, which Chrome's developer tools and `node --cpu-prof` write: a tree of nodes,
 * the node of each sample, the microseconds between samples, and per node the lines that were
 * sampled.
 */

/* The samples in which a node was the leaf, and their time. */
struct self {
	u64 nr, ns;
};

struct cpuprofile {
	const json_t *nodes, *samples, *deltas;
	struct profile *p;
	struct str *why;
	struct stack_adder *stacks;
	struct dict by_id; /* id of a node -> its index + 1 */
	u32 *parents;      /* index of the parent + 1; 0: a root */
	node_id *ours;     /* by index; NODE_NONE: not added yet */
	struct self *self; /* by index */
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

/*
 * The frame of a node, at a line of the function, or 0. The line of `callFrame` is where the
 * function begins. It was not sampled.
 */
static frame_id v8_frame(struct profile *p, const json_t *node, u32 line)
{
	const json_t *frame = json_object_get(node, "callFrame");
	const char *name = json_text(frame, "functionName");
	struct source_line source = { .file = json_text(frame, "url"), .line = line };

	return frame_from_external(p, *name ? name : "(anonymous)", "", "", false, source);
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
					     v8_frame(c->p, json_array_get(c->nodes, next), 0));
		c->ours[next] = node;
	}
	vec_fini(&path);
	*out = node;
	return is_too_deep ? refuse(c, "a node has more than 65,535 callers, or is its own") : 0;
}

static int add(struct cpuprofile *c, node_id node, const struct self *self)
{
	auto_str struct str why = { 0 };
	int err = stack_add(c->stacks, node, c->labels, c->type_samples, (s64)self->nr, &why);

	if (!err && self->ns)
		err = stack_add(c->stacks, node, c->labels, c->type_time, (s64)self->ns, &why);
	return err ? refuse(c, why.at) : 0;
}

static u64 share(u64 value, u64 part, u64 whole)
{
	return (u64)((unsigned __int128)value * part / whole);
}

static u64 ticks_of(const json_t *position)
{
	s64 ticks = json_index(json_object_get(position, "ticks"), UINT32_MAX);

	return ticks > 0 ? (u64)ticks : 0;
}

/*
 * Adds to each line of a node its share of `self`, by ticks, and takes it off. A tick is a sample,
 * but a few samples have none.
 */
static int add_lines(struct cpuprofile *c, u32 index, struct self *self)
{
	const json_t *node = json_array_get(c->nodes, index), *position;
	const json_t *positions = json_object_get(node, "positionTicks");
	const struct self all = *self;
	u64 nr_ticks = 0, before = 0;
	size_t i;
	int err = 0;

	json_array_foreach(positions, i, position) nr_ticks += ticks_of(position);
	u64 whole = nr_ticks > all.nr ? nr_ticks : all.nr;
	json_array_foreach(positions, i, position)
	{
		s64 line = json_index(json_object_get(position, "line"), UINT32_MAX);
		u64 after = before + ticks_of(position);
		const struct self part = {
			.nr = share(all.nr, after, whole) - share(all.nr, before, whole),
			.ns = share(all.ns, after, whole) - share(all.ns, before, whole),
		};
		before = after;
		if (err || line <= 0 || !(part.nr | part.ns))
			continue;
		frame_id frame = v8_frame(c->p, node, (u32)line);
		node_id caller = c->ours[c->parents[index] - 1];
		err = add(c, profile_child(c->p, caller, frame), &part);
		self->nr -= part.nr;
		self->ns -= part.ns;
	}
	return err;
}

static int add_all(struct cpuprofile *c)
{
	size_t nr = json_array_size(c->nodes);

	for (u32 i = 0; i < nr; i++) {
		struct self rest = c->self[i];
		node_id node;
		if (!(rest.nr | rest.ns))
			continue;
		int err = node_at(c, i, &node);
		if (!err && c->parents[i])
			err = add_lines(c, i, &rest);
		err = err ?: add(c, node, &rest);
		if (err)
			return err;
	}
	return 0;
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
		if (index < 0)
			return refuse(c, "a sample has a node that does not exist");
		struct self *self = &c->self[index];
		self->nr++;
		/* The deltas of threads that were moved between CPUs may be negative. */
		self->ns += ns > 0 ? (u64)ns : 0;
		if (self->ns > VARINT_MAX)
			return refuse(c, "the times add up to more than 2^53 - 1 ns");
	}
	return 0;
}

static void read_hits(struct cpuprofile *c)
{
	const json_t *node;
	size_t i;

	json_array_foreach(c->nodes, i, node)
	{
		s64 hits = json_scaled(json_object_get(node, "hitCount"), 1);
		c->self[i].nr = hits > 0 ? (u64)hits : 0;
	}
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
	c.self = xcalloc(nr, sizeof(c.self[0]));
	for (size_t i = 0; i < nr; i++)
		c.ours[i] = NODE_NONE;
	c.type_samples = profile_find_type(c.p, "cpu", "samples");
	c.labels = profile_intern_labels(c.p, &(struct labels){ 0 });
	bool has_samples = json_array_size(c.samples);
	if (has_samples)
		c.type_time = profile_find_type(c.p, "time", "ns");
	int err = read_tree(&c);

	if (!err && has_samples)
		err = read_samples(&c);
	else if (!err)
		read_hits(&c);
	err = err ?: add_all(&c);
	dict_fini(&c.by_id);
	free(c.parents);
	free(c.ours);
	free(c.self);
	return err;
}

/*
 * .heapprofile files, which Chrome's developer tools ("Allocation sampling") and `node --heap-prof`
 * write: a tree of nodes with the bytes that each allocated itself. V8 leaves out objects that its
 * collector has freed, unless the recording asked for them, so the bytes are those of live objects.
 */

struct heapprofile {
	struct profile *p;
	struct str *why;
	struct stack_adder *stacks;
	u32 type;
	labels_id labels;
};

/* The JSON library reads at most 2048 levels: that bounds the recursion. */
static int read_node(struct heapprofile *h, const json_t *json, node_id node)
{
	auto_str struct str why = { 0 };
	s64 bytes = json_scaled(json_object_get(json, "selfSize"), 1);
	const json_t *child;
	size_t i;

	if (bytes < 0) {
		str_add(h->why, "a node has no size, or one that is negative or too large");
		return -EINVAL;
	}
	int err = stack_add(h->stacks, node, h->labels, h->type, bytes, &why);
	if (err)
		str_add(h->why, why.at);
	json_array_foreach(json_object_get(json, "children"), i, child)
	{
		if (err)
			break;
		err = read_node(h, child, profile_child(h->p, node, v8_frame(h->p, child, 0)));
	}
	return err;
}

bool heapprofile_is(const json_t *all)
{
	return json_is_number(json_object_get(json_object_get(all, "head"), "selfSize"));
}

int heapprofile_read(const json_t *all, struct stack_adder *stacks, struct str *why)
{
	struct heapprofile h = {
		.p = stacks->p,
		.why = why,
		.stacks = stacks,
		.type = profile_find_type(stacks->p, "live", "bytes"),
		.labels = profile_intern_labels(stacks->p, &(struct labels){ 0 }),
	};

	return read_node(&h, json_object_get(all, "head"), 0); /* the root is no frame */
}
