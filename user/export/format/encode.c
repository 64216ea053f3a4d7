/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a profile in the format of docs/profile-format.md: the walk over the tree. */
#include "export/format/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/str.h"
#include "base/vec.h"
#include "export/format/labelset.h"
#include "export/format/meta.h"
#include "export/format/section.h"
#include "export/format/varint.h"
#include "profile/frames/frame.h"

/* The frames of a profile with their numbers in the format. */
struct listed_frame {
	enum frame_kind kind;
	u32 name, module; /* index into the sorted names; module: index + 1, 0 if unknown */
	u32 file;         /* like `module` */
	u32 method;       /* a frame that stands for all tiers of a Java method */
	u32 rank;
	u64 nr_nodes;   /* nodes of the output that use it; counted by the caller */
	bool is_used;   /* set by the caller before framelist_sort_names */
	bool is_hidden; /* the same: written even if no node uses it */
	bool has_tiers; /* the method occurs in several tiers */
};

struct framelist {
	const struct frames *frames;
	struct listed_frame *all; /* by frame_id */
	const char **names;       /* distinct, sorted by bytes */
	u32 nr, nr_names;
};

static void framelist_init(struct framelist *l, const struct frames *frames)
{
	*l = (struct framelist){ .frames = frames, .nr = frames_nr(frames) };
	l->all = xcalloc((size_t)l->nr + 1, sizeof(l->all[0]));
	for (u32 i = 0; i < l->nr; i++)
		l->all[i].kind = frames_get(frames, i)->kind;
}

static void framelist_fini(struct framelist *l)
{
	free(l->all);
	free(l->names);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_bytes_of_name(const void *name, const void *element)
{
	return strcmp(name, *(const char *const *)element);
}

static u32 index_of(const struct framelist *l, const char *name)
{
	const char **at =
		bsearch(name, l->names, l->nr_names, sizeof(l->names[0]), by_bytes_of_name);

	return (u32)(at - l->names);
}

static bool is_java(enum frame_kind kind)
{
	return kind >= FRAME_INTERPRETED && kind <= FRAME_INLINED;
}

static void find_methods(struct framelist *l)
{
	struct dict methods = { 0 }; /* (name << 32 | module) -> first frame of the method + 1 */

	for (u32 i = 0; i < l->nr; i++) {
		struct listed_frame *f = &l->all[i];
		f->method = i;
		if (!f->is_used || !is_java(f->kind))
			continue;
		u64 *first = dict_add(&methods, (u64)f->name << 32 | f->module);
		if (*first) {
			f->method = (u32)*first - 1;
			f->has_tiers = l->all[f->method].has_tiers = true;
		} else {
			*first = i + 1;
		}
	}
	dict_fini(&methods);
}

/* Numbers the names and finds the methods of the used frames. */
static void framelist_sort_names(struct framelist *l)
{
	size_t nr = 0;

	l->names = xcalloc((size_t)l->nr * 3 + 1, sizeof(l->names[0]));
	for (u32 i = 0; i < l->nr; i++) {
		const struct frame *f = frames_get(l->frames, i);
		if (!l->all[i].is_used)
			continue;
		l->names[nr++] = f->name;
		if (*f->module)
			l->names[nr++] = f->module;
		if (*f->file)
			l->names[nr++] = f->file;
	}
	qsort(l->names, nr, sizeof(l->names[0]), by_bytes);
	for (size_t i = 0; i < nr; i++)
		if (i == 0 || strcmp(l->names[i], l->names[l->nr_names - 1]))
			l->names[l->nr_names++] = l->names[i];

	for (u32 i = 0; i < l->nr; i++) {
		const struct frame *f = frames_get(l->frames, i);
		if (!l->all[i].is_used)
			continue;
		l->all[i].name = index_of(l, f->name);
		l->all[i].module = *f->module ? index_of(l, f->module) + 1 : 0;
		l->all[i].file = *f->file ? index_of(l, f->file) + 1 : 0;
	}
	find_methods(l);
}

/* Orders frames of equal weight: by name, kind, module. */
static int framelist_compare(const struct framelist *l, frame_id a, frame_id b)
{
	const struct listed_frame *x = &l->all[a], *y = &l->all[b];

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static int by_use(const void *a, const void *b, void *list)
{
	const struct framelist *l = list;
	frame_id x = *(const frame_id *)a, y = *(const frame_id *)b;

	if (l->all[x].nr_nodes != l->all[y].nr_nodes)
		return l->all[x].nr_nodes > l->all[y].nr_nodes ? -1 : 1;
	return framelist_compare(l, x, y);
}

/* Returns the frames that nodes use, in the order of their ranks. The caller frees the array. */
static frame_id *ranked(const struct framelist *l, u32 *nr)
{
	frame_id *order = xcalloc((size_t)l->nr + 1, sizeof(order[0]));

	*nr = 0;
	for (u32 i = 0; i < l->nr; i++)
		if (l->all[i].nr_nodes || l->all[i].is_hidden)
			order[(*nr)++] = i;
	qsort_r(order, *nr, sizeof(order[0]), by_use, (void *)l);
	return order;
}

/* Ranks the frames by nr_nodes. */
static void framelist_rank(struct framelist *l)
{
	u32 nr;
	frame_id *order = ranked(l, &nr);

	for (u32 rank = 0; rank < nr; rank++)
		l->all[order[rank]].rank = rank;
	free(order);
}

static void write_names(const struct framelist *l, struct str *names)
{
	const char *last = "";

	varint_add(names, l->nr_names);
	for (u32 i = 0; i < l->nr_names; i++) {
		const char *name = l->names[i];
		size_t shared = 0;
		while (name[shared] && name[shared] == last[shared])
			shared++;
		varint_add(names, shared);
		varint_add(names, strlen(name + shared));
		str_add(names, name + shared);
		last = name;
	}
}

/* Usually either no frame has a line or all Java frames have one. */
static void write_lines(const struct framelist *l, const frame_id *order, u32 nr, struct str *lines)
{
	u32 last = 0;

	for (u32 rank = 0; rank < nr; rank++) {
		u32 line = frames_get(l->frames, order[rank])->line;
		if (!line)
			continue;
		varint_add(lines, rank - last);
		varint_add(lines, line);
		varint_add(lines, l->all[order[rank]].file);
		last = rank;
	}
}

/*
 * Appends the sections NAMES, FRAMES, MODULES and LINES. MODULES or LINES stays empty if no frame
 * has a module or line.
 */
static void framelist_write(const struct framelist *l, struct str *names, struct str *frames,
			    struct str *modules, struct str *lines)
{
	u32 nr;
	frame_id *order = ranked(l, &nr);
	bool has_modules = false;

	write_names(l, names);
	varint_add(frames, nr);
	for (u32 rank = 0; rank < nr; rank++)
		varint_add(frames, l->all[order[rank]].name);
	for (u32 rank = 0; rank < nr; rank++) {
		str_add_char(frames, (char)l->all[order[rank]].kind);
		has_modules |= l->all[order[rank]].module != 0;
	}
	for (u32 rank = 0; has_modules && rank < nr; rank++)
		varint_add(modules, l->all[order[rank]].module);
	write_lines(l, order, nr, lines);
	free(order);
}

/* Numbers grouped by key. The group of `key` is at[start[key]] up to at[start[key + 1]]. */
struct groups {
	u32 *start, *at;
};

/* The tiers of a Java method. For equal parts the earlier tier wins. */
enum tier {
	TIER_C2,
	TIER_INLINED,
	TIER_C1,
	TIER_INTERPRETED,
	NR_TIERS,
};

/* A node of the output: all nodes of one method under one parent of the output. */
struct branch {
	u64 total;           /* total of the first type */
	u64 parts[NR_TIERS]; /* parts of `total` by tier, if the frame is Java */
	frame_id frame;
	u32 method;
	u32 context; /* frame of the parent + 1, 0 below the root */
	u32 depth;
	u32 members, nr_members; /* in encoder.members */
};

struct labelled {
	u32 set;
	u64 value;
};

/* The first callees of a context in order; nearly all lookups find one of these. */
#define NEAR_CALLEES 8

struct callees {
	frame_id near[NEAR_CALLEES];
	u32 nr; /* number of callees, including further ones */
};

struct encoder {
	const struct profile *p;
	struct framelist frames;
	struct labelsets sets;
	u64 *totals; /* by node, of the first type */
	u8 *is_used; /* by node: it or a descendant has a weight */
	struct groups children, weights;

	VEC(struct branch) todo; /* the stack of the walk: the last one is next */
	VEC(node_id) members;    /* members of the branches in `todo`, in the same order */
	VEC(struct branch) siblings;
	VEC(node_id) current;
	VEC(struct labelled) labelled;

	struct callees *callees; /* by context */
	struct dict
		more_callees; /* (context << 32 | frame) -> its place, from NEAR_CALLEES + 1 on */
	VEC(frame_id) first;
	frame_id *hidden; /* frames of p->hidden */
	u32 nr_nodes, last_depth, last_tiered;
	struct str pop, callee, tiers, labelsets, nodelabels, labelweights;
	struct str *self; /* by type */
};

static int tier_of(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_C2:
		return TIER_C2;
	case FRAME_INLINED:
		return TIER_INLINED;
	case FRAME_C1:
		return TIER_C1;
	case FRAME_INTERPRETED:
		return TIER_INTERPRETED;
	default:
		return -1;
	}
}

static frame_id frame_of(const struct encoder *e, node_id node)
{
	return e->p->nodes.at[node].frame;
}

static int check_sums(const struct profile *p)
{
	for (u32 type = 0; type < p->types.nr; type++) {
		u64 sum = 0;
		vec_each(w, &p->weights) {
			if (w->type != type)
				continue;
			if (w->value > VARINT_MAX - sum)
				return -EOVERFLOW;
			sum += w->value;
		}
	}
	return 0;
}

static void add_totals(struct encoder *e)
{
	const struct profile *p = e->p;

	e->totals = xcalloc(p->nodes.nr, sizeof(e->totals[0]));
	e->is_used = xcalloc(p->nodes.nr, 1);
	vec_each(w, &p->weights) {
		if (w->value)
			e->is_used[w->node] = 1;
		if (w->type == 0)
			e->totals[w->node] += w->value;
	}
	for (size_t i = p->nodes.nr - 1; i > 0; i--) {
		node_id parent = p->nodes.at[i].parent;
		e->totals[parent] += e->totals[i];
		e->is_used[parent] |= e->is_used[i];
	}
}

/* Turns counts into ends. Filling a group backwards then moves each end to its start. */
static void end_groups(struct groups *g, size_t nr_keys)
{
	for (size_t i = 0; i < nr_keys; i++)
		g->start[i + 1] += g->start[i];
	g->at = xreallocarray(NULL, (size_t)g->start[nr_keys] + 1, sizeof(g->at[0]));
}

static void group_children(struct encoder *e)
{
	const struct profile *p = e->p;
	u32 *start = e->children.start = xcalloc(p->nodes.nr + 1, sizeof(u32));

	for (size_t i = 1; i < p->nodes.nr; i++)
		start[p->nodes.at[i].parent] += e->is_used[i];
	end_groups(&e->children, p->nodes.nr);
	for (size_t i = p->nodes.nr - 1; i > 0; i--)
		if (e->is_used[i])
			e->children.at[--start[p->nodes.at[i].parent]] = (u32)i;
}

static void group_weights(struct encoder *e)
{
	const struct profile *p = e->p;
	u32 *start = e->weights.start = xcalloc(p->nodes.nr + 1, sizeof(u32));

	vec_each(w, &p->weights)
		start[w->node]++;
	end_groups(&e->weights, p->nodes.nr);
	for (size_t i = p->weights.nr; i > 0; i--)
		e->weights.at[--start[p->weights.at[i - 1].node]] = (u32)i - 1;
}

/* In profile.hidden's order. */
static frame_id *hidden_frames(const struct profile *p)
{
	frame_id *ids = xcalloc(p->hidden.nr + 1, sizeof(ids[0]));

	for (size_t i = 0; i < p->hidden.nr; i++)
		ids[i] = frames_intern(p->frames, p->hidden.at[i].kind, p->hidden.at[i].name,
				       p->hidden.at[i].module);
	return ids;
}

static void find_frames(struct encoder *e)
{
	for (size_t i = 0; i < e->p->hidden.nr; i++)
		e->frames.all[e->hidden[i]].is_used = e->frames.all[e->hidden[i]].is_hidden = true;
	for (size_t i = 1; i < e->p->nodes.nr; i++)
		if (e->is_used[i])
			e->frames.all[frame_of(e, (node_id)i)].is_used = true;
	framelist_sort_names(&e->frames);
}

static struct branch branch_of(const struct encoder *e, node_id node)
{
	frame_id frame = frame_of(e, node);
	int tier = tier_of(e->frames.all[frame].kind);
	struct branch b = { .total = e->totals[node],
			    .frame = frame,
			    .method = e->frames.all[frame].method,
			    .nr_members = 1 };

	if (tier >= 0)
		b.parts[tier] = b.total;
	return b;
}

static int by_method(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;

	if (x->method != y->method)
		return x->method < y->method ? -1 : 1;
	return x->members < y->members ? -1 : x->members > y->members;
}

/* If the totals are equal, the earlier tier wins. */
static bool is_better(const struct encoder *e, const struct branch *a, const struct branch *b)
{
	if (a->total != b->total)
		return a->total > b->total;
	return tier_of(e->frames.all[a->frame].kind) < tier_of(e->frames.all[b->frame].kind);
}

/* Merges siblings of one method that differ in their tiers. e->current holds the members. */
static void merge_tiers(struct encoder *e)
{
	struct branch *all = e->siblings.at;
	size_t nr = e->siblings.nr, kept = 0;
	VEC(node_id) members = { 0 };

	qsort(all, nr, sizeof(all[0]), by_method);
	for (size_t i = 0, next; i < nr; i = next) {
		struct branch joined = all[i], best = all[i];
		u32 start = (u32)members.nr;
		vec_push(&members, e->current.at[all[i].members]);
		for (next = i + 1; next < nr && all[next].method == joined.method; next++) {
			vec_push(&members, e->current.at[all[next].members]);
			joined.total += all[next].total;
			for (int tier = 0; tier < NR_TIERS; tier++)
				joined.parts[tier] += all[next].parts[tier];
			joined.nr_members++;
		}
		/* The parts of one tier may come from several members; compare their sums. */
		for (size_t k = i; k < next; k++) {
			int tier = tier_of(e->frames.all[all[k].frame].kind);
			struct branch sum = all[k];
			if (tier >= 0)
				sum.total = joined.parts[tier];
			if (k == i || is_better(e, &sum, &best))
				best = sum;
		}
		joined.frame = best.frame;
		joined.members = start;
		all[kept++] = joined;
	}
	e->siblings.nr = kept;
	free(e->current.at);
	e->current.at = members.at;
	e->current.nr = members.nr;
	e->current.cap = members.cap;
}

/* Collects the children of `parents` in e->siblings. Their members are indexes into e->current. */
static void gather(struct encoder *e, const node_id *parents, u32 nr_parents)
{
	bool is_mixed = nr_parents > 1;

	e->siblings.nr = e->current.nr = 0;
	for (u32 i = 0; i < nr_parents; i++) {
		const u32 *start = &e->children.start[parents[i]];
		for (u32 k = start[0]; k < start[1]; k++) {
			struct branch b = branch_of(e, e->children.at[k]);
			b.members = (u32)e->current.nr;
			is_mixed |= e->frames.all[b.frame].has_tiers;
			vec_push(&e->current, e->children.at[k]);
			vec_push(&e->siblings, b);
		}
	}
	if (is_mixed && e->siblings.nr > 1)
		merge_tiers(e);
}

/*
 * Sorts siblings by ascending weight. The walk takes the last one first, so the file has the
 * heaviest sibling first.
 */
static int by_weight(const void *a, const void *b, void *frames)
{
	const struct branch *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return framelist_compare(frames, y->frame, x->frame);
}

static void push_children(struct encoder *e, const struct branch *parent, u32 context)
{
	struct branch *all = e->siblings.at;
	size_t nr = e->siblings.nr;

	if (nr > 1)
		qsort_r(all, nr, sizeof(all[0]), by_weight, &e->frames);
	for (size_t i = 0; i < nr; i++) {
		struct branch b = all[i];
		b.depth = parent->depth + 1;
		b.context = context;
		b.members = (u32)e->members.nr;
		for (u32 k = 0; k < b.nr_members; k++)
			vec_push(&e->members, e->current.at[all[i].members + k]);
		vec_push(&e->todo, b);
	}
}

static int by_set(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;

	return x->set < y->set ? -1 : x->set > y->set;
}

/* Writes the label sets collected for a node and a type. */
static void write_labels(struct encoder *e)
{
	struct labelled *all = e->labelled.at;
	size_t nr = 0;

	qsort(all, e->labelled.nr, sizeof(all[0]), by_set);
	for (size_t i = 0; i < e->labelled.nr; i++) {
		if (nr && all[nr - 1].set == all[i].set)
			all[nr - 1].value += all[i].value;
		else
			all[nr++] = all[i];
	}
	varint_add(&e->nodelabels, nr);
	for (size_t i = 0; i < nr; i++) {
		varint_add(&e->nodelabels, i ? all[i].set - all[i - 1].set - 1 : all[i].set);
		if (i + 1 < nr)
			varint_add(&e->labelweights, all[i].value);
	}
}

static void write_self_of_type(struct encoder *e, const node_id *members, u32 nr_members, u32 type)
{
	u64 self = 0;

	e->labelled.nr = 0;
	for (u32 i = 0; i < nr_members; i++) {
		const u32 *start = &e->weights.start[members[i]];
		for (u32 k = start[0]; k < start[1]; k++) {
			const struct weight *w = &e->p->weights.at[e->weights.at[k]];
			if (w->type != type)
				continue;
			self += w->value;
			if (e->sets.nr && w->value)
				vec_push(&e->labelled,
					 (struct labelled){ e->sets.set_of[w->labels], w->value });
		}
	}
	varint_add(&e->self[type], self);
	if (e->labelled.nr)
		write_labels(e);
}

static void write_self(struct encoder *e, const node_id *members, u32 nr_members)
{
	for (u32 type = 0; type < e->p->types.nr; type++)
		write_self_of_type(e, members, nr_members, type);
}

static void write_tiers(struct encoder *e, const struct branch *b)
{
	int nr = 0;

	for (int tier = 0; tier < NR_TIERS; tier++)
		nr += b->parts[tier] > 0;
	if (nr < 2)
		return;
	varint_add(&e->tiers, e->nr_nodes - e->last_tiered);
	varint_add(&e->tiers, b->parts[TIER_INTERPRETED]);
	varint_add(&e->tiers, b->parts[TIER_C1]);
	varint_add(&e->tiers, b->parts[TIER_INLINED]);
	e->last_tiered = e->nr_nodes;
}

/* The frame's place in the context's list, from 1 on. 0 if it was just added. */
static u32 place_of(struct encoder *e, u32 context, frame_id frame)
{
	struct callees *list = &e->callees[context];
	u32 nr = list->nr < NEAR_CALLEES ? list->nr : NEAR_CALLEES;

	for (u32 i = 0; i < nr; i++)
		if (list->near[i] == frame)
			return i + 1;
	if (list->nr < NEAR_CALLEES) {
		list->near[list->nr++] = frame;
		return 0;
	}
	u64 *place = dict_add(&e->more_callees, (u64)context << 32 | frame);
	if (*place)
		return (u32)*place;
	*place = ++list->nr;
	return 0;
}

static void write_callee(struct encoder *e, const struct branch *b)
{
	u32 place = place_of(e, b->context, b->frame);

	varint_add(&e->callee, place);
	if (!place)
		vec_push(&e->first, b->frame);
}

static int walk(struct encoder *e)
{
	VEC(node_id) members = { 0 };
	struct branch root = { 0 };
	int err = 0;

	write_self(e, &(node_id){ 0 }, 1);
	e->nr_nodes = 1;
	gather(e, &(node_id){ 0 }, 1);
	push_children(e, &root, 0);
	while (e->todo.nr && !err) {
		struct branch b = e->todo.at[--e->todo.nr];
		members.nr = 0;
		for (u32 i = 0; i < b.nr_members; i++)
			vec_push(&members, e->members.at[b.members + i]);
		e->members.nr = b.members;

		varint_add(&e->pop, e->last_depth + 1 - b.depth);
		write_callee(e, &b);
		write_self(e, members.at, b.nr_members);
		write_tiers(e, &b);
		e->frames.all[b.frame].nr_nodes++;
		e->last_depth = b.depth;
		e->nr_nodes++;
		gather(e, members.at, b.nr_members);
		push_children(e, &b, b.frame + 1);
		if (b.depth > FORMAT_DEPTH_MAX)
			err = -E2BIG;
	}
	vec_fini(&members);
	return err;
}

struct piece {
	enum section id;
	const struct str *bytes;
};

static void join(const struct piece *pieces, size_t nr, struct str *out)
{
	size_t used = 0;

	for (size_t i = 0; i < nr; i++)
		used += pieces[i].bytes->len > 0;
	varint_add(out, used);
	for (size_t i = 0; i < nr; i++) {
		if (!pieces[i].bytes->len)
			continue;
		varint_add(out, pieces[i].id);
		varint_add(out, pieces[i].bytes->len);
	}
	for (size_t i = 0; i < nr; i++)
		str_add_bytes(out, pieces[i].bytes->at, pieces[i].bytes->len);
}

static int by_rank_and_type(const void *a, const void *b, void *encoder)
{
	const struct encoder *e = encoder;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	u32 rank_x = e->frames.all[e->hidden[x]].rank, rank_y = e->frames.all[e->hidden[y]].rank;

	if (rank_x != rank_y)
		return rank_x < rank_y ? -1 : 1;
	u32 type_x = e->p->hidden.at[x].type, type_y = e->p->hidden.at[y].type;
	return (type_x > type_y) - (type_x < type_y);
}

static void write_hidden(const struct encoder *e, struct str *out)
{
	u32 nr = (u32)e->p->hidden.nr;
	u32 *order = xcalloc((size_t)nr + 1, sizeof(order[0]));

	for (u32 i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(order[0]), by_rank_and_type, (void *)e);
	for (u32 i = 0; i < nr; i++) {
		const struct hidden_total *h = &e->p->hidden.at[order[i]];
		varint_add(out, e->frames.all[e->hidden[order[i]]].rank);
		varint_add(out, h->type);
		varint_add(out, h->value > VARINT_MAX ? VARINT_MAX : h->value);
	}
	free(order);
}

static void write_body(struct encoder *e, const char *tool, struct str *out)
{
	auto_str struct str meta = { 0 }, names = { 0 }, frames = { 0 }, first = { 0 },
			    modules = { 0 }, lines = { 0 }, hidden = { 0 };
	VEC(struct piece) pieces = { 0 };

	framelist_rank(&e->frames);
	framelist_write(&e->frames, &names, &frames, &modules, &lines);
	vec_each(frame, &e->first)
		varint_add(&first, e->frames.all[*frame].rank);
	write_hidden(e, &hidden);
	meta_encode(e->p, tool, &e->sets, &meta);

	vec_push(&pieces, (struct piece){ SECTION_META, &meta });
	vec_push(&pieces, (struct piece){ SECTION_NAMES, &names });
	vec_push(&pieces, (struct piece){ SECTION_FRAMES, &frames });
	vec_push(&pieces, (struct piece){ SECTION_POP, &e->pop });
	vec_push(&pieces, (struct piece){ SECTION_CALLEE, &e->callee });
	vec_push(&pieces, (struct piece){ SECTION_FIRST, &first });
	for (u32 type = 0; type < e->p->types.nr; type++)
		vec_push(&pieces, (struct piece){ SECTION_SELF, &e->self[type] });
	vec_push(&pieces, (struct piece){ SECTION_TIERS, &e->tiers });
	vec_push(&pieces, (struct piece){ SECTION_LABELSETS, &e->labelsets });
	vec_push(&pieces, (struct piece){ SECTION_NODELABELS, &e->nodelabels });
	vec_push(&pieces, (struct piece){ SECTION_LABELWEIGHTS, &e->labelweights });
	vec_push(&pieces, (struct piece){ SECTION_MODULES, &modules });
	vec_push(&pieces, (struct piece){ SECTION_LINES, &lines });
	vec_push(&pieces, (struct piece){ SECTION_HIDDEN, &hidden });
	join(pieces.at, pieces.nr, out);
	vec_fini(&pieces);
}

static void encoder_fini(struct encoder *e)
{
	for (u32 type = 0; type < e->p->types.nr; type++)
		str_fini(&e->self[type]);
	free(e->self);
	str_fini(&e->pop);
	str_fini(&e->callee);
	str_fini(&e->tiers);
	str_fini(&e->labelsets);
	str_fini(&e->nodelabels);
	str_fini(&e->labelweights);
	free(e->totals);
	free(e->is_used);
	free(e->children.start);
	free(e->children.at);
	free(e->weights.start);
	free(e->weights.at);
	free(e->callees);
	vec_fini(&e->todo);
	vec_fini(&e->members);
	vec_fini(&e->siblings);
	vec_fini(&e->current);
	vec_fini(&e->labelled);
	vec_fini(&e->first);
	free(e->hidden);
	dict_fini(&e->more_callees);
	labelsets_free(&e->sets);
	framelist_fini(&e->frames);
}

int body_encode(const struct profile *p, const char *tool, struct str *out, u32 *nr_nodes)
{
	int err = check_sums(p);
	if (err)
		return err;

	struct encoder e = { .p = p };
	e.hidden = hidden_frames(p);
	e.self = xcalloc(p->types.nr + 1, sizeof(e.self[0]));
	e.callees = xcalloc((size_t)frames_nr(p->frames) + 1, sizeof(e.callees[0]));
	add_totals(&e);
	group_children(&e);
	group_weights(&e);
	framelist_init(&e.frames, p->frames);
	find_frames(&e);
	labelsets_make(p, &e.sets, &e.labelsets);

	err = walk(&e);
	if (!err) {
		write_body(&e, tool, out);
		*nr_nodes = e.nr_nodes;
	}
	encoder_fini(&e);
	return err;
}
