/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the heaviest stacks of every service. */
#include "fleet/prune.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

/* The label set's service as a number. */
static u32 *number_services(const struct profile *p)
{
	u32 *number = xcalloc(p->labels.nr + 1, sizeof(number[0]));
	VEC(const char *) names = { 0 };

	for (labels_id l = 0; l < p->labels.nr; l++) {
		const char *name = p->labels.at[l].service ?: "";
		u32 i = 0;
		while (i < names.nr && strcmp(names.at[i], name) != 0)
			i++;
		if (i == names.nr)
			vec_push(&names, name);
		number[l] = i;
	}
	vec_fini(&names);
	return number;
}

struct stack {
	u32 service;
	node_id node;
	double share;
};

static int by_stack(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int by_share(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* All stacks with their shares, those of a service one behind the other, the heaviest first. */
static size_t list_stacks(const struct profile *p, const u32 *services, struct stack *all)
{
	double *totals = xcalloc(p->types.nr + 1, sizeof(totals[0]));
	size_t nr = 0;

	vec_each(w, &p->weights)
		totals[w->type] += (double)w->value;
	vec_each(w, &p->weights)
		all[nr++] = (struct stack){ services[w->labels], w->node,
					    totals[w->type] > 0 ? (double)w->value / totals[w->type]
								: 0 };
	free(totals);
	qsort(all, nr, sizeof(all[0]), by_stack);
	size_t kept = 0;
	for (size_t i = 0; i < nr; i++) {
		if (kept && all[kept - 1].service == all[i].service &&
		    all[kept - 1].node == all[i].node)
			all[kept - 1].share += all[i].share;
		else
			all[kept++] = all[i];
	}
	qsort(all, kept, sizeof(all[0]), by_share);
	return kept;
}

/* Moves the stacks beyond `max` of every service to the end of `all`. Returns the number kept. */
static size_t choose(struct stack *all, size_t nr, u32 max)
{
	size_t kept = 0, of_service = 0;

	for (size_t i = 0; i < nr; i++) {
		of_service = i && all[i].service == all[i - 1].service ? of_service + 1 : 0;
		if (of_service < max)
			all[kept++] = all[i];
	}
	qsort(all, kept, sizeof(all[0]), by_stack);
	return kept;
}

static node_id copy_node(const struct profile *p, struct profile *out, node_id *map, node_id n)
{
	node_id chain[1 << 10], at = n;
	u32 nr = 0;

	while (at && map[at] == NODE_NONE && nr < ARRAY_SIZE(chain)) {
		chain[nr++] = at;
		at = p->nodes.at[at].parent;
	}
	if (at && map[at] == NODE_NONE)
		copy_node(p, out, map, at);
	while (nr--) {
		node_id node = chain[nr], parent = p->nodes.at[node].parent;
		frame_id f =
			frames_copy(out->frames, frames_get(p->frames, p->nodes.at[node].frame));
		map[node] = profile_child(out, parent ? map[parent] : 0, f);
	}
	return n ? map[n] : 0;
}

static void copy_kept(const struct profile *p, struct profile *out, const u32 *services,
		      const struct stack *kept, size_t nr)
{
	node_id *map = xcalloc(p->nodes.nr, sizeof(map[0]));
	labels_id *labels = xcalloc(p->labels.nr + 1, sizeof(labels[0]));

	memset(map, 0xff, p->nodes.nr * sizeof(map[0]));
	for (u32 t = 0; t < p->types.nr; t++) {
		u32 type = profile_find_type(out, p->types.at[t].name, p->types.at[t].unit);
		out->types.at[type].role = p->types.at[t].role;
	}
	for (labels_id l = 0; l < p->labels.nr; l++)
		labels[l] = profile_intern_labels(out, &p->labels.at[l]);
	node_id rest =
		profile_child(out, 0, frames_intern(out->frames, FRAME_GROUP, PRUNE_FRAME, ""));
	vec_each(w, &p->weights) {
		const struct stack key = { services[w->labels], w->node, 0 };
		bool is_kept = bsearch(&key, kept, nr, sizeof(key), by_stack);
		profile_add(out, is_kept ? copy_node(p, out, map, w->node) : rest,
			    labels[w->labels], w->type, w->value);
	}
	free(map);
	free(labels);
}

void prune_stacks(struct profile *p, u32 max)
{
	if (p->nodes.nr <= max)
		return;
	u32 *services = number_services(p);
	struct stack *all = xcalloc(p->weights.nr + 1, sizeof(all[0]));
	size_t nr = list_stacks(p, services, all), kept = choose(all, nr, max);

	if (kept < nr) {
		struct profile *out = profile_new();
		if (frames_keeps_lines(p->frames))
			frames_keep_lines(out->frames);
		copy_kept(p, out, services, all, kept);
		profile_swap_stacks(p, out);
		profile_free(out);
	}
	free(services);
	free(all);
}
