/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the methods of a profile by cost. Part of profile/tree.h. */
#include <string.h>

#include "profile/tree.h"

/* The sums of one name. */
struct sum {
	struct hot_method method;
	u64 largest; /* the largest self weight of one node of method.frame */
	u32 nr_open; /* nodes of the name on the current path */
};

static int by_name(const void *a, const void *b, void *frames)
{
	return strcmp(frames_get(frames, *(const frame_id *)a)->name,
		      frames_get(frames, *(const frame_id *)b)->name);
}

/* Returns the number of each frame's name, indexed by frame. The caller frees the array. */
static u32 *number_names(const struct frames *frames, u32 *nr_names)
{
	u32 nr = frames_nr(frames);
	frame_id *order = xcalloc(nr + 1, sizeof(order[0]));
	u32 *name_of = xcalloc(nr + 1, sizeof(name_of[0]));

	for (u32 i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(order[0]), by_name, (void *)frames);
	*nr_names = 0;
	for (u32 i = 0; i < nr; i++) {
		if (!i || by_name(&order[i - 1], &order[i], (void *)frames))
			++*nr_names;
		name_of[order[i]] = *nr_names - 1;
	}
	free(order);
	return name_of;
}

static void enter(const struct tree_node *n, struct sum *sum)
{
	if (!sum->nr_open++)
		sum->method.total += n->total;
	if (!sum->method.self || n->self > sum->largest) {
		sum->method.frame = n->frame;
		sum->largest = n->self;
	}
	sum->method.self += n->self;
}

static void walk(const struct tree *t, const u32 *name_of, struct sum *sums)
{
	const struct tree_node *nodes = t->nodes.at;
	u32 at = nodes[0].first;

	while (at) {
		enter(&nodes[at], &sums[name_of[nodes[at].frame]]);
		if (nodes[at].first) {
			at = nodes[at].first;
			continue;
		}
		for (;;) {
			sums[name_of[nodes[at].frame]].nr_open--;
			if (nodes[at].next) {
				at = nodes[at].next;
				break;
			}
			at = nodes[at].parent;
			if (!at)
				return;
		}
	}
}

static int by_self(const void *a, const void *b, void *frames)
{
	const struct hot_method *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return by_name(&x->frame, &y->frame, frames);
}

void hot_methods_make(const struct profile *p, const struct tree *t, struct hot_methods *out)
{
	u32 nr_names;
	u32 *name_of = number_names(p->frames, &nr_names);
	struct sum *sums = xcalloc(nr_names + 1, sizeof(sums[0]));

	*out = (struct hot_methods){ 0 };
	walk(t, name_of, sums);
	for (u32 i = 0; i < nr_names; i++)
		if (sums[i].method.total)
			vec_push(&out->all, sums[i].method);
	if (out->all.nr)
		qsort_r(out->all.at, out->all.nr, sizeof(out->all.at[0]), by_self, p->frames);
	free(sums);
	free(name_of);
}

void hot_methods_fini(struct hot_methods *h)
{
	vec_fini(&h->all);
}
