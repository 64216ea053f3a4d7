/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads .heapprofile files, which Chrome's developer tools ("Allocation sampling") and
 * `node --heap-prof` write: a tree of nodes with the bytes that each allocated itself. V8 leaves
 * out objects that its collector has freed, unless the recording asked for them, so the bytes are
 * those of live objects. Source: HeapProfiler.SamplingHeapProfile of the Chrome DevTools Protocol.
 * Part of export/readers/json_tables.h.
 */
#include <errno.h>

#include "base/auto.h"
#include "export/interchange/external.h"
#include "export/readers/json_tables.h"

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
