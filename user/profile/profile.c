/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: a tree of stacks with values. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/dict.h"

/* Finds what is interned; rebuilt from nothing else, freed with the profile. */
struct profile_index {
	struct dict children; /* parent << 32 | frame -> node */
	struct dict labels;   /* hash of the labels -> id + 1; equal hashes probe on */
	struct dict weights;  /* hash of (node, labels, type) -> index + 1; equal hashes probe on */
};

struct profile *profile_new(void)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->frames = frames_new();
	p->index = xcalloc(1, sizeof(*p->index));
	p->host = xstrdup("");
	p->target = xstrdup("");
	vec_push(&p->nodes, (struct node){ 0 });
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	vec_each(t, &p->types) {
		free(t->name);
		free(t->unit);
	}
	vec_each(l, &p->labels) {
		free((char *)l->comm);
		free((char *)l->thread);
	}
	vec_each(n, &p->notes) {
		free(n->key);
		free(n->text);
	}
	vec_fini(&p->types);
	vec_fini(&p->nodes);
	vec_fini(&p->labels);
	vec_fini(&p->weights);
	vec_fini(&p->notes);
	frames_free(p->frames);
	dict_fini(&p->index->children);
	dict_fini(&p->index->labels);
	dict_fini(&p->index->weights);
	free(p->index);
	free(p->host);
	free(p->target);
	free(p);
}

u32 profile_add_type(struct profile *p, const char *name, const char *unit)
{
	vec_push(&p->types, (struct value_type){ xstrdup(name), xstrdup(unit) });
	return (u32)p->types.nr - 1;
}

static u64 hash_labels(const struct labels *l)
{
	u64 hash = hash_u64((u64)l->pid << 32 | l->tid);

	for (const char *c = l->comm; *c; c++)
		hash = hash_u64(hash ^ (u8)*c);
	for (const char *c = l->thread; *c; c++)
		hash = hash_u64(hash ^ (u64)(u8)*c << 8);
	return hash;
}

static bool labels_equal(const struct labels *a, const struct labels *b)
{
	return a->pid == b->pid && a->tid == b->tid && !strcmp(a->comm, b->comm) &&
	       !strcmp(a->thread, b->thread);
}

labels_id profile_intern_labels(struct profile *p, const struct labels *labels)
{
	u64 key = hash_labels(labels), *id;

	for (; *(id = dict_add(&p->index->labels, key)); key++)
		if (labels_equal(&p->labels.at[*id - 1], labels))
			return (labels_id)*id - 1;

	struct labels own = *labels;
	own.comm = xstrdup(labels->comm);
	own.thread = xstrdup(labels->thread);
	vec_push(&p->labels, own);
	*id = p->labels.nr;
	return (labels_id)*id - 1;
}

node_id profile_child(struct profile *p, node_id parent, frame_id frame)
{
	u64 *node = dict_add(&p->index->children, (u64)parent << 32 | frame);

	if (!*node) {
		vec_push(&p->nodes, (struct node){ parent, frame });
		*node = p->nodes.nr - 1;
	}
	return (node_id)*node;
}

void profile_add(struct profile *p, node_id leaf, labels_id labels, u32 type, u64 value)
{
	u64 key = hash_u64(((u64)leaf << 32 | labels) ^ hash_u64(type)), *at;

	for (; *(at = dict_add(&p->index->weights, key)); key++) {
		struct weight *w = &p->weights.at[*at - 1];
		if (w->node == leaf && w->labels == labels && w->type == type) {
			w->value += value;
			return;
		}
	}
	vec_push(&p->weights, (struct weight){ leaf, labels, type, value });
	*at = p->weights.nr;
}

void profile_note(struct profile *p, const char *key, const char *text, u64 value)
{
	struct note *old = (struct note *)profile_find_note(p, key);

	if (old) {
		old->value = value;
		return;
	}
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
