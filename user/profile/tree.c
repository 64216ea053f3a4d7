/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's stacks as a tree that people can read. */
#include "profile/tree.h"

#include <string.h>

#include "base/dict.h"
#include "profile/frames/method.h"

/* The state of tree_make. */
struct making {
	const struct profile *p;
	frame_id *method_of; /* by frame: one frame that stands for all tiers of its method */
	u32 *node_of;        /* by node of the profile: our node */
	struct dict nodes;   /* our parent << 32 | method -> our node */
	struct dict
		parts;   /* (our node << 32 | frame) -> its part, for methods with several tiers */
	bool *has_tiers; /* by frame: whether its method has more than one */
	double scale;    /* factor for weights before; 0 if the profile is not a comparison */
	struct tree *tree;
};

static void find_methods(struct making *m)
{
	u32 nr = frames_nr(m->p->frames);

	m->method_of = frames_methods(m->p->frames);
	m->has_tiers = xcalloc(nr + 1, sizeof(m->has_tiers[0]));
	for (u32 i = 0; i < nr; i++)
		if (m->method_of[i] != i)
			m->has_tiers[i] = m->has_tiers[m->method_of[i]] = true;
}

static void merge_nodes(struct making *m)
{
	const struct profile *p = m->p;

	m->node_of = xcalloc(p->nodes.nr, sizeof(m->node_of[0]));
	vec_push(&m->tree->nodes, (struct tree_node){ 0 });
	for (u32 i = 1; i < p->nodes.nr; i++) {
		u32 parent = m->node_of[p->nodes.at[i].parent];
		frame_id frame = p->nodes.at[i].frame;
		u64 *node = dict_add(&m->nodes, (u64)parent << 32 | m->method_of[frame]);
		if (!*node) {
			*node = m->tree->nodes.nr;
			vec_push(&m->tree->nodes,
				 (struct tree_node){ .frame = frame, .parent = parent });
		}
		m->node_of[i] = (u32)*node;
	}
	dict_fini(&m->nodes);
}

/* Equal parts are decided in the order C2, inlined, C1, interpreted. */
static int tier_rank(enum frame_kind kind)
{
	static const int ranks[NR_FRAME_KINDS] = {
		[FRAME_C2] = 4, [FRAME_INLINED] = 3, [FRAME_C1] = 2, [FRAME_INTERPRETED] = 1
	};
	return ranks[kind];
}

static void choose_tiers(struct making *m)
{
	struct tree_node *nodes = m->tree->nodes.at;

	dict_each(slot, &m->parts) {
		struct tree_node *n = &nodes[slot->key >> 32];
		frame_id frame = (frame_id)slot->key;
		const u64 *best = dict_find(&m->parts, (slot->key >> 32) << 32 | n->frame);
		u64 best_part = best ? *best : 0;
		int rank = tier_rank(frames_get(m->p->frames, frame)->kind),
		    best_rank = tier_rank(frames_get(m->p->frames, n->frame)->kind);
		if (slot->value > best_part ||
		    (slot->value == best_part &&
		     (rank > best_rank || (rank == best_rank && frame < n->frame))))
			n->frame = frame;
	}
	dict_fini(&m->parts);
}

/*
 * Sums the totals of the profile's own nodes: a tier's part is the sum over the nodes of its frame.
 */
static void add_up(struct making *m, u32 type)
{
	const struct profile *p = m->p;
	struct tree_node *nodes = m->tree->nodes.at;
	u64 *totals = xcalloc(p->nodes.nr, sizeof(totals[0]));

	vec_each(w, &p->weights)
		if (w->type == type) {
			nodes[m->node_of[w->node]].self += w->value;
			totals[w->node] += w->value;
		}
	for (u32 i = (u32)p->nodes.nr - 1; i > 0; i--) {
		frame_id frame = p->nodes.at[i].frame;
		totals[p->nodes.at[i].parent] += totals[i];
		nodes[m->node_of[i]].total += totals[i];
		if (m->has_tiers[frame] && totals[i])
			*dict_add(&m->parts, (u64)m->node_of[i] << 32 | frame) += totals[i];
	}
	nodes[0].total = totals[0];
	free(totals);
	choose_tiers(m);
}

static void add_up_before(struct making *m)
{
	const struct profile *p = m->p;
	struct tree_node *nodes = m->tree->nodes.at;

	vec_each(w, &p->weights)
		if (w->type == 1)
			nodes[m->node_of[w->node]].self_before += w->value;
	for (u32 i = (u32)m->tree->nodes.nr - 1; i > 0; i--) {
		nodes[i].before += nodes[i].self_before;
		nodes[nodes[i].parent].before += nodes[i].before;
	}
	nodes[0].before += nodes[0].self_before;
}

struct order {
	double scale;
	const struct tree_node *nodes;
	const struct frames *frames;
};

static int by_total(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	const struct tree_node *x = &o->nodes[*(const u32 *)a], *y = &o->nodes[*(const u32 *)b];

	double more = o->scale * ((double)x->before - (double)y->before) + (double)x->total -
		      (double)y->total;

	if (o->scale > 0 && more != 0)
		return more > 0 ? -1 : 1;
	if (o->scale <= 0 && x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return frames_by_method(&x->frame, &y->frame, (void *)o->frames);
}

static void link_children(struct making *m)
{
	struct tree_node *nodes = m->tree->nodes.at;
	struct order order = { m->scale, nodes, m->p->frames };
	VEC(u32) children = { 0 };

	for (u32 i = (u32)m->tree->nodes.nr - 1; i > 0; i--)
		if (nodes[i].total || nodes[i].before) {
			nodes[i].next = nodes[nodes[i].parent].first;
			nodes[nodes[i].parent].first = i;
		}
	for (u32 i = 0; i < m->tree->nodes.nr; i++) {
		if (!nodes[i].first || !nodes[nodes[i].first].next)
			continue;
		children.nr = 0;
		for (u32 c = nodes[i].first; c; c = nodes[c].next)
			vec_push(&children, c);
		qsort_r(children.at, children.nr, sizeof(children.at[0]), by_total, &order);
		nodes[i].first = children.at[0];
		for (size_t c = 0; c < children.nr; c++)
			nodes[children.at[c]].next = c + 1 < children.nr ? children.at[c + 1] : 0;
	}
	vec_fini(&children);
}

static void make(struct making *m, u32 type)
{
	*m->tree = (struct tree){ 0 };
	find_methods(m);
	merge_nodes(m);
	add_up(m, type);
	if (m->scale > 0)
		add_up_before(m);
	link_children(m);
	free(m->method_of);
	free(m->has_tiers);
	free(m->node_of);
}

void tree_make(const struct profile *p, u32 type, struct tree *out)
{
	make(&(struct making){ .p = p, .tree = out }, type);
	out->type = type;
}

void tree_make_diff(const struct profile *p, double scale, struct tree *out)
{
	make(&(struct making){ .p = p, .scale = scale, .tree = out }, 0);
	out->type = TREE_OF_BOTH;
}

void tree_fini(struct tree *t)
{
	vec_fini(&t->nodes);
}
