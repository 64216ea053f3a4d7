/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a profile's Java frames readable names. */
#include "profile/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dict.h"
#include "profile/java_name.h"
#include "profile/method.h"

/* The new frame of an old one. */
struct renamed {
	frame_id frame;
	enum clojure_part part;
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

static frame_id rename_frame(struct frames *to, const struct frame *f, enum name_style style,
			     enum clojure_part *part)
{
	auto_str struct str shown = { 0 }, plain = { 0 };
	auto_free char *name = frame_function(f);

	if (f->kind == FRAME_STUB) {
		show_stub(name, &shown);
		return frames_intern_like(to, f, shown.at);
	}
	if (!frame_kind_is_java(f->kind) && f->kind != FRAME_CLASS)
		return frames_intern_like(to, f, name);
	if (f->kind == FRAME_CLASS)
		java_class_show(name, &shown);
	else
		*part = java_name_show(name, &shown);
	if (style == NAMES_WITHOUT_IDS)
		java_name_drop_ids(shown.at, &plain);
	return frames_intern_like(to, f, style == NAMES_WITHOUT_IDS ? plain.at : shown.at);
}

/*
 * Renames all frames. Returns whether the tree must be rebuilt, because two frames became one or
 * two frames of a stack may merge.
 */
static bool rename_frames(const struct frames *from, struct frames *to, enum name_style style,
			  struct renamed *renamed)
{
	bool any_inner = false;

	for (frame_id f = 0; f < frames_nr(from); f++) {
		struct renamed *r = &renamed[f];
		r->frame = rename_frame(to, frames_get(from, f), style, &r->part);
		any_inner |= r->part == CLOJURE_INNER;
	}
	return any_inner || frames_nr(to) != frames_nr(from);
}

static bool is_same_name(const struct frames *all, frame_id a, frame_id b)
{
	return a == b || !strcmp(frames_get(all, a)->name, frames_get(all, b)->name);
}

/* The code of a Clojure function is merged with the method that only calls it. */
static bool is_inner_of(const struct profile *p, const struct renamed *renamed,
			const struct frames *to, node_id i)
{
	node_id parent = p->nodes.at[i].parent;
	const struct renamed *r = &renamed[p->nodes.at[i].frame];

	if (!parent || r->part != CLOJURE_INNER)
		return false;
	const struct renamed *outer = &renamed[p->nodes.at[parent].frame];
	return outer->part == CLOJURE_OUTER && is_same_name(to, r->frame, outer->frame);
}

static void move_nodes(struct profile *p, const struct renamed *renamed, const struct frames *to)
{
	struct node_list nodes = { 0 };
	struct dict by_key = { 0 }; /* parent << 32 | frame -> node */
	node_id *at = xcalloc(p->nodes.nr, sizeof(at[0]));

	vec_push(&nodes.all, (struct profile_node){ 0 });
	for (node_id i = 1; i < p->nodes.nr; i++) {
		const struct profile_node *n = &p->nodes.at[i];
		at[i] = at[n->parent];
		if (is_inner_of(p, renamed, to, i))
			continue;
		frame_id frame = renamed[n->frame].frame;
		u64 *node = dict_add(&by_key, (u64)at[n->parent] << 32 | frame);
		if (!*node) {
			*node = nodes.all.nr;
			vec_push(&nodes.all, (struct profile_node){ at[n->parent], frame });
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
	struct renamed *renamed = xcalloc(frames_nr(p->frames) + 1, sizeof(renamed[0]));
	if (rename_frames(p->frames, to, style, renamed))
		move_nodes(p, renamed, to);
	frames_swap(p->frames, to);
	frames_free(to);
	free(renamed);
}
