/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: a tree of stacks with values. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/str.h"

#define NOTES_MAX 10000 /* more come only from a hostile file, and each lookup scans all */

/*
 * A hash table that finds an element of one of the profile's arrays by its contents. It uses open
 * addressing and stores element numbers. A profile may have ten million nodes, so slots are small.
 * The distant element itself is read only if the tag, half of its hash, agrees.
 */
struct finder_slot {
	u32 tag;     /* the upper half of the hash */
	u32 element; /* element number plus one, 0 if the slot is free */
};

struct finder {
	struct finder_slot *slots;
	size_t nr, cap; /* cap is 0 or a power of two */
};

/* The first children of a node form a list, because nearly all nodes have one or two. */
#define LISTED_CHILDREN 8

struct links {
	node_id first, next; /* 0: none */
};

/*
 * Indexes of interned data. They are not rebuilt from anything else and are freed with the profile.
 */
struct profile_index {
	VEC(struct links) links; /* by node */
	struct finder nodes;     /* by (parent, frame), for children that are in no list */
	struct finder weights;   /* by (node, labels, type), from `first_open` on */
	size_t first_open;       /* weights before it are sealed */
	struct dict labels;      /* hash of the labels -> id + 1; equal hashes probe on */
	VEC(char *) texts;       /* texts of the labels, each once */
	struct dict text_of;     /* hash of a text -> index + 1; equal hashes probe on */
	/* by thread: the id of its newest labels; 0 or an outdated id does no harm */
	u32 recent[64];
};

/* Whether the table must grow before the next element. */
static bool is_full(const struct finder *f)
{
	return f->nr * 4 >= f->cap * 3;
}

static void make_slots(struct finder *f)
{
	f->cap = f->cap ? f->cap * 2 : 16;
	f->slots = xcalloc(f->cap, sizeof(f->slots[0]));
}

static struct finder_slot *first_slot(const struct finder *f, u64 hash)
{
	return &f->slots[hash & (f->cap - 1)];
}

static struct finder_slot *next_slot(const struct finder *f, const struct finder_slot *slot)
{
	return &f->slots[(size_t)(slot + 1 - f->slots) & (f->cap - 1)];
}

static struct finder_slot slot_for(u64 hash, size_t element)
{
	return (struct finder_slot){ (u32)(hash >> 32), (u32)element + 1 };
}

/* Adds an element without comparing or counting it. */
static void put(const struct finder *f, u64 hash, size_t element)
{
	struct finder_slot *slot = first_slot(f, hash);

	while (slot->element)
		slot = next_slot(f, slot);
	*slot = slot_for(hash, element);
}

bool node_labels_next(char **rest, char **key, char **value)
{
	while ((*key = strsep(rest, ","))) {
		*value = strchr(*key, '=');
		if (!*value)
			continue;
		*(*value)++ = '\0';
		return true;
	}
	return false;
}

struct profile *profile_new(void)
{
	struct profile *p = profile_new_sharing(frames_new());

	p->shares_frames = false;
	return p;
}

struct profile *profile_new_sharing(struct frames *frames)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->frames = frames;
	p->shares_frames = true;
	p->index = xcalloc(1, sizeof(*p->index));
	p->host = xstrdup("");
	p->node_labels = xstrdup("");
	p->target = xstrdup("");
	p->title = xstrdup("");
	p->view = xstrdup("");
	vec_push(&p->nodes, (struct profile_node){ 0 });
	p->nodes_max = NODE_NONE;
	vec_push(&p->index->links, (struct links){ 0 });
	return p;
}

size_t profile_bytes(const struct profile *p)
{
	const struct profile_index *x = p->index;

	return p->nodes.cap * sizeof(p->nodes.at[0]) + p->labels.cap * sizeof(p->labels.at[0]) +
	       p->weights.cap * sizeof(p->weights.at[0]) + x->links.cap * sizeof(x->links.at[0]) +
	       (x->nodes.cap + x->weights.cap) * sizeof(struct finder_slot) +
	       dict_bytes(&x->labels) + dict_bytes(&x->text_of) +
	       x->texts.cap * sizeof(x->texts.at[0]) +
	       (p->shares_frames ? 0 : frames_bytes(p->frames));
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	vec_each(t, &p->types) {
		free(t->name);
		free(t->unit);
	}
	vec_each(text, &p->index->texts)
		free(*text);
	vec_each(n, &p->notes) {
		free(n->key);
		free(n->text);
	}
	vec_fini(&p->types);
	vec_fini(&p->nodes);
	vec_fini(&p->labels);
	vec_fini(&p->weights);
	vec_fini(&p->notes);
	profile_forget_hidden(p);
	if (!p->shares_frames)
		frames_free(p->frames);
	vec_fini(&p->index->links);
	free(p->index->nodes.slots);
	free(p->index->weights.slots);
	dict_fini(&p->index->labels);
	vec_fini(&p->index->texts);
	dict_fini(&p->index->text_of);
	free(p->index);
	free(p->host);
	free(p->node_labels);
	free(p->target);
	free(p->title);
	free(p->view);
	free(p);
}

u32 profile_add_type(struct profile *p, const char *name, const char *unit)
{
	vec_push(&p->types, (struct value_type){ xstrdup(name), xstrdup(unit), VALUE_NONE });
	return (u32)p->types.nr - 1;
}

static u64 hash_labels(const struct labels *l)
{
	u64 hash = hash_u64(((u64)l->pid << 32 | l->tid) ^ l->program << 1);

	for (u64 i = 0; i < NR_LABELS; i++)
		if (l->text[i] && *l->text[i])
			hash = hash_u64(hash ^ hash_keyed(l->text[i], strlen(l->text[i])) ^ i);
	return hash;
}

/* Returns the profile's own copy: many label sets share few texts. */
static const char *own_text(struct profile_index *index, const char *text)
{
	u64 key = hash_keyed(text, strlen(text)), *at;

	for (; *(at = dict_add(&index->text_of, key)); key++)
		if (!strcmp(index->texts.at[*at - 1], text))
			return index->texts.at[*at - 1];
	vec_push(&index->texts, xstrdup(text));
	*at = index->texts.nr;
	return index->texts.at[*at - 1];
}

static bool labels_equal(const struct labels *a, const struct labels *b)
{
	for (size_t i = 0; i < NR_LABELS; i++)
		if (strcmp(a->text[i] ?: "", b->text[i] ?: ""))
			return false;
	return a->pid == b->pid && a->tid == b->tid && a->program == b->program;
}

/* The texts are clean. */
static labels_id intern_labels(struct profile *p, const struct labels *labels)
{
	u64 key = hash_labels(labels), *id;

	for (; *(id = dict_add(&p->index->labels, key)); key++)
		if (labels_equal(&p->labels.at[*id - 1], labels))
			return (labels_id)*id - 1;

	struct labels own = *labels;
	for (size_t i = 0; i < NR_LABELS; i++)
		own.text[i] = own_text(p->index, labels->text[i] ?: "");
	vec_push(&p->labels, own);
	*id = p->labels.nr;
	return (labels_id)*id - 1;
}

/* Most samples have the labels of an earlier one of their thread, and those are clean. */
static u32 *recent_labels(const struct profile *p, const struct labels *labels)
{
	u64 thread = (u64)labels->pid << 32 | labels->tid;

	return &p->index->recent[hash_u64(thread) % ARRAY_SIZE(p->index->recent)];
}

labels_id profile_intern_labels(struct profile *p, const struct labels *labels)
{
	struct str storage[NR_LABELS] = { 0 };
	struct labels clean = *labels;
	u32 *recent = recent_labels(p, labels);

	if (*recent < p->labels.nr && labels_equal(&p->labels.at[*recent], labels))
		return *recent;

	for (size_t i = 0; i < NR_LABELS; i++)
		clean.text[i] = utf8_cleaned(labels->text[i] ?: "", SIZE_MAX, &storage[i]);
	labels_id id = intern_labels(p, &clean);
	for (size_t i = 0; i < NR_LABELS; i++)
		str_fini(&storage[i]);
	return *recent = id;
}

static u64 hash_node(node_id parent, frame_id frame)
{
	return hash_u64((u64)parent << 32 | frame);
}

static void grow_nodes(struct profile *p)
{
	struct finder *f = &p->index->nodes;
	struct finder old = *f;

	make_slots(f);
	for (size_t i = 0; i < old.cap; i++) {
		node_id id = old.slots[i].element - 1;
		if (old.slots[i].element)
			put(f, hash_node(p->nodes.at[id].parent, p->nodes.at[id].frame), id);
	}
	free(old.slots);
}

static void put_node(struct profile *p, node_id id)
{
	struct finder *f = &p->index->nodes;

	if (is_full(f))
		grow_nodes(p);
	put(f, hash_node(p->nodes.at[id].parent, p->nodes.at[id].frame), id);
	f->nr++;
}

/* Builds the index of the existing nodes. */
static void index_nodes(struct profile *p)
{
	struct profile_index *index = p->index;
	u8 *nr_listed = xcalloc(p->nodes.nr, 1);

	index->links.nr = 0;
	free(index->nodes.slots);
	index->nodes = (struct finder){ 0 };
	for (node_id i = 0; i < p->nodes.nr; i++) {
		vec_push(&index->links, (struct links){ 0 });
		node_id parent = p->nodes.at[i].parent;
		if (!i)
			continue;
		if (nr_listed[parent] == LISTED_CHILDREN) {
			put_node(p, i);
			continue;
		}
		nr_listed[parent]++;
		index->links.at[i].next = index->links.at[parent].first;
		index->links.at[parent].first = i;
	}
	free(nr_listed);
}

/* Returns the parent if the profile is full. */
static node_id add_node(struct profile *p, node_id parent, frame_id frame)
{
	if (p->nodes.nr >= p->nodes_max) {
		p->is_full = true;
		return parent;
	}
	vec_push(&p->nodes, (struct profile_node){ parent, frame });
	vec_push(&p->index->links, (struct links){ 0 });
	return (node_id)p->nodes.nr - 1;
}

/* Finds a child that is not in its parent's list because the list is full. */
static node_id unlisted_child(struct profile *p, node_id parent, frame_id frame)
{
	u64 hash = hash_node(parent, frame);
	struct finder *f = &p->index->nodes;

	for (struct finder_slot *slot = f->cap ? first_slot(f, hash) : NULL; slot && slot->element;
	     slot = next_slot(f, slot)) {
		if (slot->tag != (u32)(hash >> 32))
			continue;
		const struct profile_node *n = &p->nodes.at[slot->element - 1];
		if (n->parent == parent && n->frame == frame)
			return slot->element - 1;
	}
	node_id child = add_node(p, parent, frame);
	if (child != parent)
		put_node(p, child);
	return child;
}

node_id profile_child(struct profile *p, node_id parent, frame_id frame)
{
	const struct links *links = p->index->links.at;
	node_id child = links[parent].first;
	int nr = 0;

	for (; child; child = links[child].next, nr++)
		if (p->nodes.at[child].frame == frame)
			return child;
	if (nr == LISTED_CHILDREN)
		return unlisted_child(p, parent, frame);

	child = add_node(p, parent, frame);
	if (child == parent)
		return parent;
	p->index->links.at[child].next = p->index->links.at[parent].first;
	p->index->links.at[parent].first = child;
	return child;
}

node_id profile_no_stack(struct profile *p)
{
	return profile_child(p, 0, frames_intern(p->frames, FRAME_UNKNOWN, NO_STACK, ""));
}

static u64 hash_weight(node_id node, labels_id labels, u32 type)
{
	return hash_u64(((u64)node << 32 | labels) ^ (u64)type << 40);
}

static void put_weights(struct profile *p)
{
	struct finder *f = &p->index->weights;

	for (size_t i = p->index->first_open; i < p->weights.nr; i++) {
		const struct weight *w = &p->weights.at[i];
		put(f, hash_weight(w->node, w->labels, w->type), i);
	}
}

static void grow_weights(struct profile *p)
{
	free(p->index->weights.slots);
	make_slots(&p->index->weights);
	put_weights(p);
}

static void clear_weights(struct finder *f)
{
	f->nr = 0;
	if (f->cap)
		memset(f->slots, 0, f->cap * sizeof(f->slots[0]));
}

void profile_seal_weights(struct profile *p)
{
	clear_weights(&p->index->weights);
	p->index->first_open = p->weights.nr;
}

void profile_open_weights(struct profile *p)
{
	struct finder *f = &p->index->weights;

	if (!p->index->first_open)
		return;
	p->index->first_open = 0;
	free(f->slots);
	*f = (struct finder){ 0 };
	f->nr = p->weights.nr;
	while (is_full(f)) {
		free(f->slots);
		make_slots(f);
	}
	put_weights(p);
}

/* Forgets the index of weights, which have been taken away. */
static void forget_weights(struct profile *p)
{
	free(p->index->weights.slots);
	p->index->weights = (struct finder){ 0 };
	p->index->first_open = 0;
}

void profile_add(struct profile *p, node_id leaf, labels_id labels, u32 type, u64 value)
{
	struct finder *f = &p->index->weights;

	if (is_full(f))
		grow_weights(p);
	if (!leaf)
		leaf = profile_no_stack(p);

	u64 hash = hash_weight(leaf, labels, type);
	struct finder_slot *slot = first_slot(f, hash);
	for (; slot->element; slot = next_slot(f, slot)) {
		struct weight *w = &p->weights.at[slot->element - 1];
		if (slot->tag == (u32)(hash >> 32) && w->node == leaf && w->labels == labels &&
		    w->type == type) {
			if (__builtin_add_overflow(w->value, value, &w->value))
				w->value = UINT64_MAX;
			return;
		}
	}
	*slot = slot_for(hash, p->weights.nr);
	f->nr++;
	vec_push(&p->weights, (struct weight){ leaf, labels, type, value });
}

void profile_empty(struct profile *p)
{
	p->weights.nr = 0;
	p->index->first_open = 0;
	clear_weights(&p->index->weights);
	vec_each(n, &p->notes) {
		free(n->key);
		free(n->text);
	}
	p->notes.nr = 0;
	p->covered_ns = 0;
	profile_forget_hidden(p);
}

void profile_own_frames(struct profile *p)
{
	struct frames *shared = p->frames;

	if (!p->shares_frames)
		return;
	p->frames = frames_new();
	p->shares_frames = false;
	if (frames_keeps_lines(shared))
		frames_keep_lines(p->frames);
	u32 *own = xcalloc((size_t)frames_nr(shared) + 1, sizeof(own[0])); /* id + 1 */
	for (size_t i = 1; i < p->nodes.nr; i++) {
		u32 *id = &own[p->nodes.at[i].frame];
		if (!*id)
			*id = frames_copy(p->frames, frames_get(shared, p->nodes.at[i].frame)) + 1;
		p->nodes.at[i].frame = *id - 1;
	}
	free(own);
	index_nodes(p);
}

void profile_move(struct profile *p, struct node_list *nodes, const node_id *at)
{
	typeof(p->weights) old = p->weights;

	free(p->nodes.at);
	p->nodes.at = nodes->all.at;
	p->nodes.nr = nodes->all.nr;
	p->nodes.cap = nodes->all.cap;
	*nodes = (struct node_list){ 0 };
	index_nodes(p);

	p->weights = (typeof(p->weights)){ 0 };
	forget_weights(p);
	vec_each(w, &old)
		if (at[w->node] != NODE_NONE)
			profile_add(p, at[w->node], w->labels, w->type, w->value);
	vec_fini(&old);
}

void profile_keep_labels(struct profile *p, labels_keep_fn keeps, const void *ctx)
{
	typeof(p->weights) old = p->weights;

	profile_forget_hidden(p);
	p->weights = (typeof(p->weights)){ 0 };
	forget_weights(p);
	vec_each(w, &old)
		if (keeps(&p->labels.at[w->labels], ctx))
			profile_add(p, w->node, w->labels, w->type, w->value);
	vec_fini(&old);
}

void profile_change_weights(struct profile *p, weight_fn change, void *ctx)
{
	typeof(p->weights) old = p->weights;

	p->weights = (typeof(p->weights)){ 0 };
	forget_weights(p);
	vec_each(w, &old) {
		change(w, ctx);
		profile_add(p, w->node, w->labels, w->type, w->value);
	}
	vec_fini(&old);
}

static void use_other_labels(struct weight *w, void *ctx)
{
	const labels_id *to = ctx;

	w->labels = to[w->labels];
}

void profile_forget_programs(struct profile *p)
{
	auto_free labels_id *to = xcalloc(p->labels.nr + 1, sizeof(to[0]));
	typeof(p->labels) old = p->labels;
	bool are_equal = false;

	p->labels = (typeof(p->labels)){ 0 };
	dict_fini(&p->index->labels);
	vec_each(l, &old) {
		labels_id id = (labels_id)(l - old.at);
		l->program = 0;
		to[id] = intern_labels(p, l);
		are_equal |= to[id] != id;
	}
	vec_fini(&old);
	if (are_equal)
		profile_change_weights(p, use_other_labels, to);
}

/* Gives the hidden totals other types; UINT32_MAX drops them. */
static void retype_hidden(struct profile *p, const u32 *to)
{
	typeof(p->hidden) old = p->hidden;

	memset(&p->hidden, 0, sizeof(p->hidden));
	dict_fini(&p->hidden_of);
	vec_each(h, &old) {
		const struct frame f = { .name = h->name, .module = h->module, .kind = h->kind };
		if (to[h->type] != UINT32_MAX)
			profile_hide(p, &f, to[h->type], h->value);
		free(h->name);
		free(h->module);
	}
	vec_fini(&old);
}

void profile_drop_type(struct profile *p, u32 index)
{
	auto_free u32 *to = xcalloc(p->types.nr, sizeof(to[0]));
	typeof(p->weights) old = p->weights;
	struct value_type *t = &p->types.at[index];

	p->weights = (typeof(p->weights)){ 0 };
	forget_weights(p);
	vec_each(w, &old)
		if (w->type != index)
			profile_add(p, w->node, w->labels, w->type - (w->type > index), w->value);
	vec_fini(&old);
	for (u32 type = 0; type < p->types.nr; type++)
		to[type] = type == index ? UINT32_MAX : type - (type > index);
	retype_hidden(p, to);
	free(t->name);
	free(t->unit);
	memmove(t, t + 1, (--p->types.nr - index) * sizeof(*t));
}

void profile_swap_stacks(struct profile *a, struct profile *b)
{
	struct profile old = *a;

	a->frames = b->frames;
	a->shares_frames = b->shares_frames;
	a->index = b->index;
	memcpy(&a->types, &b->types, sizeof(a->types));
	memcpy(&a->nodes, &b->nodes, sizeof(a->nodes));
	memcpy(&a->labels, &b->labels, sizeof(a->labels));
	memcpy(&a->weights, &b->weights, sizeof(a->weights));
	memcpy(&a->hidden, &b->hidden, sizeof(a->hidden));
	a->hidden_of = b->hidden_of;
	b->frames = old.frames;
	b->shares_frames = old.shares_frames;
	b->index = old.index;
	memcpy(&b->types, &old.types, sizeof(b->types));
	memcpy(&b->nodes, &old.nodes, sizeof(b->nodes));
	memcpy(&b->labels, &old.labels, sizeof(b->labels));
	memcpy(&b->weights, &old.weights, sizeof(b->weights));
	memcpy(&b->hidden, &old.hidden, sizeof(b->hidden));
	b->hidden_of = old.hidden_of;
}

void profile_hide(struct profile *p, const struct frame *f, u32 type, u64 value)
{
	u64 key = hash_u64(hash_keyed(f->name, strlen(f->name)) ^ type), *at;

	for (; *(at = dict_add(&p->hidden_of, key)); key++) {
		struct hidden_total *old = &p->hidden.at[*at - 1];
		if (old->type == type && !strcmp(old->name, f->name)) {
			if (__builtin_add_overflow(old->value, value, &old->value))
				old->value = UINT64_MAX;
			return;
		}
	}
	vec_push(&p->hidden, (struct hidden_total){ .name = xstrdup(f->name),
						    .module = xstrdup(f->module),
						    .kind = f->kind,
						    .type = type,
						    .value = value });
	*at = p->hidden.nr;
}

void profile_forget_hidden(struct profile *p)
{
	vec_each(h, &p->hidden) {
		free(h->name);
		free(h->module);
	}
	vec_fini(&p->hidden);
	dict_fini(&p->hidden_of);
}

void profile_note(struct profile *p, const char *key, const char *text, u64 value)
{
	struct note *old = (struct note *)profile_find_note(p, key);

	if (old) {
		old->value = value;
		return;
	}
	if (p->notes.nr < NOTES_MAX)
		vec_push(&p->notes, (struct note){ xstrdup(key), xstrdup(text), value });
}

const struct note *profile_find_note(const struct profile *p, const char *key)
{
	vec_each(n, &p->notes)
		if (!strcmp(n->key, key))
			return n;
	return NULL;
}

u64 profile_total(const struct profile *p, u32 type)
{
	u64 total = 0;

	vec_each(w, &p->weights)
		if (w->type == type)
			total += w->value;
	return total;
}

u32 profile_find_type(struct profile *p, const char *name, const char *unit)
{
	for (u32 i = 0; i < p->types.nr; i++)
		if (!strcmp(p->types.at[i].name, name) && !strcmp(p->types.at[i].unit, unit))
			return i;
	return profile_add_type(p, name, unit);
}

bool value_type_is(const struct value_type *t, const char *event)
{
	size_t len = strlen(t->name);

	/* Names may contain slashes: "pmu/event=1/". */
	return !strcmp(event, t->name) || (!strncmp(event, t->name, len) && event[len] == '/' &&
					   !strcmp(event + len + 1, t->unit));
}

void profile_name_types(const struct profile *p, struct str *out)
{
	vec_each(t, &p->types)
		str_addf(out, "%s%s/%s", t == p->types.at ? "" : ", ", t->name, t->unit);
	if (!p->types.nr)
		str_add(out, "none");
}

void profile_move_type_first(struct profile *p, u32 index)
{
	struct value_type first = p->types.at[index];
	struct finder *f = &p->index->weights;

	auto_free u32 *to = xcalloc(p->types.nr, sizeof(to[0]));
	for (u32 type = 0; type < p->types.nr; type++)
		to[type] = type == index ? 0 : type + (type < index);
	retype_hidden(p, to);
	memmove(&p->types.at[1], &p->types.at[0], index * sizeof(first));
	p->types.at[0] = first;
	vec_each(w, &p->weights)
		if (w->type <= index)
			w->type = w->type == index ? 0 : w->type + 1;
	size_t nr = f->nr;
	clear_weights(f);
	f->nr = nr;
	if (f->cap)
		put_weights(p);
}
