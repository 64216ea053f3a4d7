/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one. */
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct value_type *find_type(const struct profile *p, const struct value_type *type,
					  u32 *index)
{
	for (*index = 0; *index < p->types.nr; ++*index) {
		const struct value_type *t = &p->types.at[*index];
		if (!strcmp(t->name, type->name) && !strcmp(t->unit, type->unit))
			return t;
	}
	return NULL;
}

/* Samples first, then the order of `before`. Plain text of stacks does not say what it counts. */
static int choose_types(const struct profile *before, const struct profile *after, u32 *b, u32 *a)
{
	for (int wants_samples = 1; wants_samples >= 0; wants_samples--)
		for (*b = 0; *b < before->types.nr; ++*b) {
			const struct value_type *t = &before->types.at[*b];
			bool is_samples = !strcmp(t->unit, "samples");
			if (is_samples == wants_samples && find_type(after, t, a))
				return 0;
		}
	for (*b = 0; *b < before->types.nr; ++*b)
		for (*a = 0; *a < after->types.nr; ++*a) {
			const struct value_type *x = &before->types.at[*b];
			const struct value_type *y = &after->types.at[*a];
			if (!strcmp(x->unit, y->unit) &&
			    (!strcmp(x->name, "samples") || !strcmp(y->name, "samples")))
				return 0;
		}
	return -EINVAL;
}

static void name_types(const struct profile *p, struct str *why)
{
	vec_each(t, &p->types)
		str_addf(why, "%s%s (%s)", t == p->types.at ? "" : ", ", t->name, t->unit);
	if (!p->types.nr)
		str_add(why, "nothing");
}

/* Length of a process frame's name without its number, 0 if it has none. */
static size_t len_without_number(const struct frame *f)
{
	size_t end = strlen(f->name), at = end;

	while (at > 0 && f->name[at - 1] >= '0' && f->name[at - 1] <= '9')
		at--;
	bool is_process = f->kind == FRAME_GROUP || (f->kind == FRAME_NATIVE && !*f->module);
	return is_process && at < end && at > 1 && f->name[at - 1] == '-' ? at - 1 : 0;
}

static bool has_root(const struct profile *p, const struct frame *root)
{
	for (node_id n = 1; n < p->nodes.nr; n++)
		if (!p->nodes.at[n].parent &&
		    !strcmp(frames_get(p->frames, p->nodes.at[n].frame)->name, root->name))
			return true;
	return false;
}

static frame_id root_of(struct profile *out, const struct frame *f, const struct profile *other)
{
	size_t len = len_without_number(f);

	if (!len || has_root(other, f))
		return frames_intern(out->frames, f->kind, f->name, f->module);
	char *name = xstrndup(f->name, len);
	frame_id id = frames_intern(out->frames, f->kind, name, f->module);
	free(name);
	return id;
}

static void add_all(struct profile *out, const struct profile *p, const struct profile *other,
		    u32 type, u32 out_type)
{
	node_id *node_of = xcalloc(p->nodes.nr, sizeof(node_of[0]));
	labels_id none = profile_intern_labels(out, &(struct labels){ 0 });

	for (node_id n = 1; n < p->nodes.nr; n++) {
		const struct frame *f = frames_get(p->frames, p->nodes.at[n].frame);
		node_id parent = p->nodes.at[n].parent;
		frame_id frame = parent ? frames_intern(out->frames, f->kind, f->name, f->module)
					: root_of(out, f, other);
		node_of[n] = profile_child(out, node_of[parent], frame);
	}
	vec_each(w, &p->weights)
		if (w->type == type)
			profile_add(out, node_of[w->node], none, out_type, w->value);
	free(node_of);
}

static void add_notes(struct profile *out, const struct profile *p, const char *when)
{
	vec_each(n, &p->notes) {
		char *key = xasprintf("%s_%s", when, n->key);
		char *text = xasprintf("%s (%s)", n->text, when);
		profile_note(out, key, text, n->value);
		free(key);
		free(text);
	}
}

static void add_type(struct profile *out, const struct value_type *t, enum value_role role)
{
	char *name = xasprintf("%s %s", t->name, role == ROLE_AFTER ? "after" : "before");
	u32 index = profile_add_type(out, name, t->unit);

	out->types.at[index].role = role;
	free(name);
}

int profile_diff(const struct profile *before, const struct profile *after, struct profile *out,
		 struct str *why)
{
	u32 b, a;

	if (profile_is_diff(before) || profile_is_diff(after)) {
		str_add(why, "one of the two is a comparison itself");
		return -EINVAL;
	}
	if (choose_types(before, after, &b, &a)) {
		str_add(why, "they count different things: ");
		name_types(before, why);
		str_add(why, " and ");
		name_types(after, why);
		return -EINVAL;
	}
	add_type(out, &after->types.at[a], ROLE_AFTER);
	add_type(out, &before->types.at[b], ROLE_BEFORE);
	add_all(out, after, before, a, 0);
	add_all(out, before, after, b, 1);
	add_notes(out, before, "before");
	add_notes(out, after, "after");
	out->start_wall_ns = after->start_wall_ns;
	out->duration_ns = after->duration_ns;
	return 0;
}

bool profile_is_diff(const struct profile *p)
{
	return p->types.nr >= 2 && p->types.at[0].role == ROLE_AFTER &&
	       p->types.at[1].role == ROLE_BEFORE;
}

bool diff_is_significant(u64 before, u64 after, double scale)
{
	double a = (double)after, b = (double)before;

	return fabs(a - scale * b) >= 2 * sqrt(a + scale * scale * b) && a + b > 0;
}

#define VIEW_BY_COUNTS "norm=0" /* as in the page's address */

bool diff_is_by_counts(const struct profile *p)
{
	return strstr(p->view, VIEW_BY_COUNTS);
}

void diff_by_counts(struct profile *p)
{
	char *old = p->view;

	p->view = xasprintf("%s%s" VIEW_BY_COUNTS, old, *old ? "&" : "");
	free(old);
}
