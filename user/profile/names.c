/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a profile's Java frames readable names. */
#include "profile/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/vec.h"
#include "profile/frames/java_form.h"
#include "profile/frames/java_name.h"
#include "profile/frames/java_signature.h"
#include "profile/frames/method.h"

/* The new frame of an old one. */
struct renamed {
	frame_id frame;
	enum clojure_part part;
	bool is_known;
};

struct naming {
	const struct frames *from;
	struct frames *to;
	enum name_style style;
	VEC(struct renamed) all; /* by frame of `from` */
};

/*
 * Names a routine of HotSpot's stub generator as older JDKs do: "Stub Generator dlog_stub" (JDK 26)
 * and "dlog_stub (stub gen)" (27 and later) become "dlog". Other stubs keep their names.
 */
static void show_stub(const char *name, struct str *out)
{
	static const char before[] = "Stub Generator ", behind[] = " (stub gen)", last[] = "_stub";
	size_t len = strlen(name);

	if (!strncmp(name, before, strlen(before))) {
		name += strlen(before);
		len -= strlen(before);
	} else if (len > strlen(behind) && !strcmp(name + len - strlen(behind), behind)) {
		len -= strlen(behind);
	} else {
		str_add(out, name);
		return;
	}
	if (len > strlen(last) && !memcmp(name + len - strlen(last), last, strlen(last)))
		len -= strlen(last);
	str_add_bytes(out, name, len);
}

/* A signature follows the readable name. A Clojure function has none: its method is not shown. */
static enum clojure_part show_method(char *name, struct str *out)
{
	auto_str struct str descriptor = { 0 }, signature = { 0 };
	bool is_form = java_form_unwrap(name, strlen(name), NULL);
	size_t len = is_form ? strlen(name) : java_signature_hide(name, &descriptor);

	str_add(&signature, name + len);
	name[len] = '\0';
	enum clojure_part part = java_name_show(name, out);
	if (part == CLOJURE_NONE)
		str_add(out, signature.at);
	return part;
}

static frame_id rename_frame(struct frames *to, const struct frame *f, enum name_style style,
			     enum clojure_part *part)
{
	auto_str struct str shown = { 0 }, plain = { 0 };
	auto_free char *name = frame_function(f);

	if (style == NAMES_RAW)
		return frames_intern_like(to, f, name);
	if (f->kind == FRAME_STUB) {
		show_stub(name, &shown);
		return frames_intern_like(to, f, shown.at);
	}
	if (!frame_kind_is_java(f->kind) && f->kind != FRAME_CLASS)
		return frames_intern_like(to, f, name);
	if (f->kind == FRAME_CLASS)
		java_class_show(name, &shown);
	else
		*part = show_method(name, &shown);
	if (style == NAMES_WITHOUT_IDS)
		java_name_drop_ids(shown.at, &plain);
	return frames_intern_like(to, f, style == NAMES_WITHOUT_IDS ? plain.at : shown.at);
}

struct naming *naming_new(const struct frames *from, struct frames *to, enum name_style style)
{
	struct naming *n = xcalloc(1, sizeof(*n));

	*n = (struct naming){ .from = from, .to = to, .style = style };
	return n;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	vec_fini(&n->all);
	free(n);
}

/* Valid until the next call. */
static const struct renamed *get_renamed(struct naming *n, frame_id f)
{
	while (n->all.nr <= f)
		vec_push(&n->all, (struct renamed){ 0 });

	struct renamed *r = &n->all.at[f];
	if (!r->is_known) {
		r->frame = rename_frame(n->to, frames_get(n->from, f), n->style, &r->part);
		r->is_known = true;
	}
	return r;
}

const char *naming_name(struct naming *n, frame_id f)
{
	return frames_get(n->to, get_renamed(n, f)->frame)->name;
}

/*
 * Renames all frames. Returns whether the tree must be rebuilt, because two frames became one or
 * two frames of a stack may merge.
 */
static bool rename_all(struct naming *n)
{
	bool any_inner = false;

	for (frame_id f = 0; f < frames_nr(n->from); f++)
		any_inner |= get_renamed(n, f)->part == CLOJURE_INNER;
	return any_inner || frames_nr(n->to) != frames_nr(n->from);
}

static bool is_same_name(const struct frames *all, frame_id a, frame_id b)
{
	return a == b || !strcmp(frames_get(all, a)->name, frames_get(all, b)->name);
}

/* The code of a Clojure function is merged with the method that only calls it. */
static bool is_inner_of(struct naming *n, const struct profile *p, node_id i)
{
	node_id parent = p->nodes.at[i].parent;
	const struct renamed r = *get_renamed(n, p->nodes.at[i].frame);

	if (!parent || r.part != CLOJURE_INNER)
		return false;
	const struct renamed *outer = get_renamed(n, p->nodes.at[parent].frame);
	return outer->part == CLOJURE_OUTER && is_same_name(n->to, r.frame, outer->frame);
}

void naming_copy_nodes(struct naming *n, const struct profile *p, struct profile *out, node_id *at)
{
	at[0] = 0;
	for (node_id i = 1; i < p->nodes.nr; i++) {
		const struct profile_node *node = &p->nodes.at[i];
		at[i] = at[node->parent];
		if (!is_inner_of(n, p, i))
			at[i] = profile_child(out, at[i], get_renamed(n, node->frame)->frame);
	}
}

static void move_nodes(struct profile *p, struct naming *n)
{
	struct node_list nodes = { 0 };
	struct dict by_key = { 0 }; /* parent << 32 | frame -> node */
	node_id *at = xcalloc(p->nodes.nr, sizeof(at[0]));

	vec_push(&nodes.all, (struct profile_node){ 0 });
	for (node_id i = 1; i < p->nodes.nr; i++) {
		node_id parent = at[p->nodes.at[i].parent];
		at[i] = parent;
		if (is_inner_of(n, p, i))
			continue;
		frame_id frame = get_renamed(n, p->nodes.at[i].frame)->frame;
		u64 *node = dict_add(&by_key, (u64)parent << 32 | frame);
		if (!*node) {
			*node = nodes.all.nr;
			vec_push(&nodes.all, (struct profile_node){ parent, frame });
		}
		at[i] = (node_id)*node;
	}
	profile_move(p, &nodes, at);
	dict_fini(&by_key);
	free(at);
}

void profile_name_frames(struct profile *p, enum name_style style)
{
	if (style == NAMES_RAW)
		return;

	struct frames *to = frames_new();
	if (frames_keeps_lines(p->frames))
		frames_keep_lines(to);
	if (frames_keeps_signatures(p->frames))
		frames_keep_signatures(to);
	struct naming *n = naming_new(p->frames, to, style);
	if (rename_all(n))
		move_nodes(p, n);
	frames_swap(p->frames, to);
	frames_free(to);
	naming_free(n);
}
