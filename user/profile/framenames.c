/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up a profile's frames by name. */
#include "profile/framenames.h"

#include <stdlib.h>
#include <string.h>

#include "profile/method.h"

static u64 hash_text(const char *text)
{
	return hash_keyed(text, strlen(text));
}

/* The place of the first frame with this text. It holds 0 if there is no such frame yet. */
static u64 *find_text(struct framenames *n, const char *text)
{
	u64 key = hash_text(text), *first;

	for (; *(first = dict_add(&n->by_text, key)); key++)
		if (!strcmp(n->all.at[*first - 1].text, text))
			break;
	return first;
}

static void add_frame(struct framenames *n, frame_id f, frame_id method)
{
	const char *name = frames_get(n->frames, f)->name;
	struct framename new = { .text = name, .method = method, .next_same = FRAME_NONE };

	if (strchr(name, ';')) {
		new.own = xstrdup(name);
		for (char *c = new.own; (c = strchr(c, ';'));)
			*c = ':';
		new.text = new.own;
	}
	vec_push(&n->all, new);
	u64 *first = find_text(n, new.text);
	if (*first) {
		n->all.at[f].next_same = n->all.at[*first - 1].next_same;
		n->all.at[*first - 1].next_same = f;
	} else {
		*first = f + 1;
	}
}

void framenames_init(struct framenames *n, struct frames *frames)
{
	frame_id *method_of = frames_methods(frames);

	*n = (struct framenames){ .frames = frames, .stack = 1 };
	for (frame_id f = 0; f < frames_nr(frames); f++)
		add_frame(n, f, method_of[f]);
	free(method_of);
}

void framenames_fini(struct framenames *n)
{
	vec_each(name, &n->all)
		free(name->own);
	vec_fini(&n->all);
	dict_fini(&n->by_text);
}

void framenames_mark_stack(struct framenames *n, const frame_id *frames, u32 nr)
{
	n->stack++;
	for (u32 i = 0; i < nr; i++) {
		n->all.at[frames[i]].stack = n->stack;
		n->all.at[frames[i]].depth = i;
	}
}

/* Treats all tiers of Java as one kind. */
static int kind_class(const struct frame *f)
{
	return frame_kind_is_java(f->kind) ? FRAME_INTERPRETED : (int)f->kind;
}

static bool is_alike(const struct frame *a, const struct frame *b)
{
	return kind_class(a) == kind_class(b) && !strcmp(a->module, b->module);
}

/* Whether `a` is the better choice of two frames with the same name. */
static bool is_better(const struct framenames *n, frame_id a, frame_id b, frame_id like)
{
	const struct framename *x = &n->all.at[a], *y = &n->all.at[b];
	bool x_is_marked = x->stack == n->stack, y_is_marked = y->stack == n->stack;

	if (x_is_marked || y_is_marked)
		return x_is_marked && (!y_is_marked || x->depth > y->depth);

	const struct frame *f = frames_get(n->frames, a), *g = frames_get(n->frames, b);
	const struct frame *wanted = like == FRAME_NONE ? NULL : frames_get(n->frames, like);
	bool f_is_alike = wanted && is_alike(f, wanted), g_is_alike = wanted && is_alike(g, wanted);
	if (f_is_alike != g_is_alike)
		return f_is_alike;
	if (f_is_alike)
		return f->kind == wanted->kind && g->kind != wanted->kind;
	int order = kind_class(f) - kind_class(g) ?: strcmp(f->module, g->module);
	return order < 0 || (order == 0 && f->kind < g->kind);
}

frame_id framenames_named(struct framenames *n, const char *text, frame_id like)
{
	const u64 *first = find_text(n, text);

	if (*first) {
		frame_id best = (frame_id)*first - 1;
		for (frame_id f = best; f != FRAME_NONE; f = n->all.at[f].next_same)
			if (is_better(n, f, best, like))
				best = f;
		return best;
	}
	size_t len = strlen(text);
	if (len > FRAME_NAME_MAX || n->added_bytes + len > ADDED_MAX)
		return FRAME_NONE;
	n->added_bytes += len;
	struct frame model = { .module = "", .kind = FRAME_UNKNOWN };
	if (like != FRAME_NONE)
		model = *frames_get(n->frames, like);
	frame_id f = frames_intern(n->frames, model.kind, text, model.module);
	if (f == n->all.nr)
		add_frame(n, f, f);
	return f;
}
