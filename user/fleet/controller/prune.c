/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the lightest stacks of a merged profile in their middle. */
#include "fleet/controller/prune.h"

#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/types.h"
#include "base/vec.h"

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
	node_id node, to; /* `to`: in the profile that is cut */
	node_id caller;   /* of a cut stack: the last of its callers that stays, 0 for none */
	bool is_cut, has_leaf;
	double share;
	u64 value; /* of the first type */
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
		all[nr++] = (struct stack){
			.service = services[w->labels],
			.node = w->node,
			.share = totals[w->type] > 0 ? (double)w->value / totals[w->type] : 0,
			.value = w->type ? 0 : w->value,
		};
	free(totals);
	qsort(all, nr, sizeof(all[0]), by_stack);
	size_t kept = 0;
	for (size_t i = 0; i < nr; i++) {
		if (kept && all[kept - 1].service == all[i].service &&
		    all[kept - 1].node == all[i].node) {
			all[kept - 1].share += all[i].share;
			all[kept - 1].value += all[i].value;
		} else {
			all[kept++] = all[i];
		}
	}
	qsort(all, kept, sizeof(all[0]), by_share);
	return kept;
}

/* Moves the stacks beyond `max` of every service to the end of `all`. Returns the number kept. */
static size_t choose(struct stack *all, size_t nr, u32 max)
{
	struct stack *rest = xcalloc(nr + 1, sizeof(rest[0]));
	size_t kept = 0, nr_rest = 0, of_service = 0;
	u32 service = UINT32_MAX;

	for (size_t i = 0; i < nr; i++) {
		struct stack one = all[i];
		of_service = one.service == service ? of_service + 1 : 0;
		service = one.service;
		*(of_service < max ? &all[kept++] : &rest[nr_rest++]) = one;
	}
	memcpy(&all[kept], rest, nr_rest * sizeof(rest[0]));
	free(rest);
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

static bool is_prune_frame(const struct profile *p, node_id n)
{
	const struct frame *f = frames_get(p->frames, p->nodes.at[n].frame);

	return f->kind == FRAME_GROUP && !strcmp(f->name, PRUNE_FRAME);
}

/* A profile that is cut: stacks that are not kept become shorter ones. */
struct pruning {
	const struct profile *p;
	struct profile *out;
	node_id *map; /* from nodes of `p` to those of `out`; NODE_NONE */
	node_id *kept_callers;
	/* nodes of `out`: those of kept stacks; the limit, of which folded stacks may use half */
	size_t nr_kept, room;
};

/*
 * By node: the deepest caller that is kept; 0: none. Callers below a "[truncated]" of an earlier
 * merge do not count: a stack has that frame once.
 */
static node_id *kept_callers(const struct pruning *k)
{
	node_id *kept = xcalloc(k->p->nodes.nr, sizeof(kept[0]));
	bool *is_below = xcalloc(k->p->nodes.nr, sizeof(is_below[0]));

	for (node_id n = 1; n < k->p->nodes.nr; n++) {
		node_id parent = k->p->nodes.at[n].parent;
		is_below[n] = is_below[parent] || is_prune_frame(k->p, n);
		kept[n] = !is_below[n] && k->map[n] != NODE_NONE ? n : kept[parent];
	}
	free(is_below);
	return kept;
}

/*
 * "kept callers;[truncated];leaf": the self values of all methods stay exact. Hostile nodes invent
 * stacks without end: first the kept callers go, then the leaf.
 */
static void fold(const struct pruning *k, struct stack *s)
{
	size_t used = k->out->nodes.nr - k->nr_kept;
	node_id n = s->node;

	s->caller = used < k->room ? k->kept_callers[n] : 0;
	if (s->caller == n && n) {
		s->to = k->map[n];
		return;
	}
	s->is_cut = true;
	s->to = profile_child(k->out, s->caller ? k->map[s->caller] : 0,
			      frames_intern(k->out->frames, FRAME_GROUP, PRUNE_FRAME, ""));
	s->has_leaf = n && !is_prune_frame(k->p, n) && used < 2 * k->room;
	if (!s->has_leaf)
		return;
	const struct frame *leaf = frames_get(k->p->frames, k->p->nodes.at[n].frame);
	s->to = profile_child(k->out, s->to, frames_copy(k->out->frames, leaf));
}

/* Returns the largest value of a stack that was cut. */
static u64 place_stacks(struct pruning *k, struct stack *all, size_t nr, size_t nr_kept)
{
	u64 largest = 0;

	for (size_t i = 0; i < nr_kept; i++)
		all[i].to = copy_node(k->p, k->out, k->map, all[i].node);
	k->nr_kept = k->out->nodes.nr;
	k->kept_callers = kept_callers(k);
	for (size_t i = nr_kept; i < nr; i++) {
		fold(k, &all[i]);
		if (all[i].is_cut && all[i].value > largest)
			largest = all[i].value;
	}
	free(k->kept_callers);
	return largest;
}

static void copy_types_and_labels(const struct profile *p, struct profile *out, labels_id *labels)
{
	for (u32 t = 0; t < p->types.nr; t++) {
		u32 type = profile_find_type(out, p->types.at[t].name, p->types.at[t].unit);
		out->types.at[type].role = p->types.at[t].role;
	}
	for (labels_id l = 0; l < p->labels.nr; l++)
		labels[l] = profile_intern_labels(out, &p->labels.at[l]);
}

/* Most methods with a hidden total, and most frames of cut stacks that are looked at for it. */
#define HIDDEN_MAX  (1u << 16)
#define HIDING_WORK (1ull << 28)

/* What the totals of methods lack in `out`. */
struct hiding {
	const struct profile *p;
	struct profile *out;
	u32 *last;        /* by name: the last stack that has it */
	u32 nr_stacks;    /* so far */
	u64 work;         /* frames that were looked at */
	struct dict lost; /* frame << 32 | type -> value; the frame has the method's name */
	frame_id *first;  /* by name: its frame in `lost` */
};

static bool is_new(struct hiding *h, frame_id frame)
{
	u32 *last = &h->last[frames_name(h->p->frames, frame)];
	bool is_first = *last != h->nr_stacks;

	*last = h->nr_stacks;
	h->work++;
	return is_first;
}

/* Adds the value of a cut stack to the methods that its folded stack lacks. */
static void hide(struct hiding *h, const struct stack *s, const struct weight *w)
{
	const struct profile_node *nodes = h->p->nodes.at;

	if (!s->is_cut || h->work > HIDING_WORK)
		return;
	h->nr_stacks++;
	for (node_id n = s->caller; n; n = nodes[n].parent)
		is_new(h, nodes[n].frame);
	if (s->has_leaf)
		is_new(h, nodes[s->node].frame);
	for (node_id n = s->node; n != s->caller; n = nodes[n].parent) {
		frame_id f = nodes[n].frame, *first = &h->first[frames_name(h->p->frames, f)];
		if (!is_new(h, f) || frames_get(h->p->frames, f)->kind == FRAME_GROUP)
			continue;
		*first = *first ?: f + 1;
		*dict_add(&h->lost, (u64)(*first - 1) << 32 | w->type) += w->value;
	}
}

static int by_value(const void *a, const void *b)
{
	const struct dict_slot *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Of an attacker's endless methods only the heaviest are kept. */
static void hiding_end(struct hiding *h)
{
	VEC(struct dict_slot) all = { 0 };

	dict_each(slot, &h->lost)
		vec_push(&all, *slot);
	if (all.nr)
		qsort(all.at, all.nr, sizeof(all.at[0]), by_value);
	vec_each(t, &h->p->hidden) {
		const struct frame f = { .name = t->name, .module = t->module, .kind = t->kind };
		profile_hide(h->out, &f, t->type, t->value);
	}
	for (size_t i = 0; i < all.nr && h->out->hidden.nr < HIDDEN_MAX; i++)
		profile_hide(h->out, frames_get(h->p->frames, (frame_id)(all.at[i].key >> 32)),
			     (u32)all.at[i].key, all.at[i].value);
	vec_fini(&all);
	dict_fini(&h->lost);
	free(h->last);
	free(h->first);
}

/* `all`: stacks, of which the first are kept. Returns as place_stacks does. */
static u64 copy_stacks(const struct profile *p, struct profile *out, const u32 *services,
		       struct stack *all, size_t nr, size_t nr_kept, size_t room)
{
	struct pruning k = {
		.p = p, .out = out, .map = xcalloc(p->nodes.nr, sizeof(k.map[0])), .room = room
	};
	labels_id *labels = xcalloc(p->labels.nr + 1, sizeof(labels[0]));

	memset(k.map, 0xff, p->nodes.nr * sizeof(k.map[0]));
	copy_types_and_labels(p, out, labels);
	u64 largest = place_stacks(&k, all, nr, nr_kept);
	qsort(all, nr, sizeof(all[0]), by_stack);
	u32 nr_texts = frames_nr_texts(p->frames);
	struct hiding h = { .p = p,
			    .out = out,
			    .last = xcalloc((size_t)nr_texts + 1, sizeof(h.last[0])),
			    .first = xcalloc((size_t)nr_texts + 1, sizeof(h.first[0])) };
	vec_each(w, &p->weights) {
		const struct stack key = { .service = services[w->labels], .node = w->node };
		const struct stack *of = bsearch(&key, all, nr, sizeof(key), by_stack);
		profile_add(out, of->to, labels[w->labels], w->type, w->value);
		hide(&h, of, w);
	}
	hiding_end(&h);
	free(k.map);
	free(labels);
	return largest;
}

u64 prune_stacks(struct profile *p, u32 max)
{
	if (p->nodes.nr <= max)
		return 0;
	u32 *services = number_services(p);
	struct stack *all = xcalloc(p->weights.nr + 1, sizeof(all[0]));
	size_t nr = list_stacks(p, services, all), kept = choose(all, nr, max);
	u64 largest = 0;

	if (kept < nr) {
		struct profile *out = profile_new();
		if (frames_keeps_lines(p->frames))
			frames_keep_lines(out->frames);
		largest = copy_stacks(p, out, services, all, nr, kept, kept);
		profile_swap_stacks(p, out);
		profile_free(out);
	}
	free(services);
	free(all);
	return largest;
}
