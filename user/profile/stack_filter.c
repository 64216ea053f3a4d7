/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses stacks by the names of their frames, and turns stacks around. */
#include "profile/stack_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "profile/count.h"
#include "profile/frames/java_signature.h"

enum {
	INCLUDED = 1,
	EXCLUDED = 2,
};

static bool begins_with(const char *name, const char *pattern, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] != pattern[i] && !(pattern[i] == '/' && name[i] == '.'))
			return false;
	return true;
}

bool stack_pattern_matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern), name_len = strlen(name);
	bool any_begin = len && pattern[0] == '*',
	     any_end = len > any_begin && pattern[len - 1] == '*';

	pattern += any_begin;
	len -= any_begin + any_end;
	if (name_len < len)
		return false;
	size_t first = any_begin && !any_end ? name_len - len : 0;
	size_t last = any_begin ? name_len - len : 0;
	if (!any_begin && !any_end && name_len != len)
		return false;
	for (size_t i = first; i <= last; i++)
		if (begins_with(name + i, pattern, len))
			return true;
	return false;
}

static bool matches_any(const char *const *patterns, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (stack_pattern_matches(patterns[i], name))
			return true;
	return false;
}

static u8 match_frame(const struct stack_filter *f, const struct frame *frame)
{
	auto_str struct str signature = { 0 };

	if (frame->kind == FRAME_GROUP)
		return 0;
	auto_free char *name = frame_function(frame);
	name[java_signature_hide(name, &signature)] = '\0';
	return (matches_any(f->include, f->nr_include, name) ? INCLUDED : 0) |
	       (matches_any(f->exclude, f->nr_exclude, name) ? EXCLUDED : 0);
}

static u64 count_dropped(const struct profile *p, const node_id *at)
{
	u32 type = 0;
	u64 sum = 0;

	if (p->types.nr && !count_find(p, 0, &type))
		type = 0;
	vec_each(w, &p->weights)
		if (w->type == type && at[w->node] == NODE_NONE)
			sum += w->value;
	return sum;
}

u64 profile_filter_stacks(struct profile *p, const struct stack_filter *f)
{
	struct node_list nodes = { 0 };
	u8 *of_frame = xcalloc(frames_nr(p->frames) + 1, 1), *of_node = xcalloc(p->nodes.nr + 1, 1);
	node_id *at = xcalloc(p->nodes.nr + 1, sizeof(at[0]));

	for (frame_id i = 0; i < frames_nr(p->frames); i++)
		of_frame[i] = match_frame(f, frames_get(p->frames, i));
	for (node_id i = 0; i < p->nodes.nr; i++) {
		const struct profile_node *n = &p->nodes.at[i];
		if (i)
			of_node[i] = of_node[n->parent] | of_frame[n->frame];
		bool is_kept =
			(!f->nr_include || of_node[i] & INCLUDED) && !(of_node[i] & EXCLUDED);
		at[i] = is_kept ? i : NODE_NONE;
		vec_push(&nodes.all, *n);
	}
	u64 dropped = count_dropped(p, at);
	profile_move(p, &nodes, at);
	if (f->nr_include || f->nr_exclude)
		profile_forget_hidden(p);
	free(of_frame);
	free(of_node);
	free(at);
	return dropped;
}

/* Stacks as a tree that grows. */
struct turning {
	const struct profile *p;
	struct node_list nodes;
	struct dict by_key; /* parent << 32 | frame -> node */
};

static node_id child(struct turning *t, node_id parent, frame_id frame)
{
	u64 *node = dict_add(&t->by_key, (u64)parent << 32 | frame);

	if (!*node) {
		*node = t->nodes.all.nr;
		vec_push(&t->nodes.all, (struct profile_node){ parent, frame });
	}
	return (node_id)*node;
}

static bool is_level(const struct profile *p, node_id n)
{
	return frames_get(p->frames, p->nodes.at[n].frame)->kind == FRAME_GROUP;
}

/* The levels stay on top, in their order. Stacks may be deep: no recursion. */
static node_id turn(struct turning *t, node_id leaf)
{
	VEC(frame_id) levels = { 0 };
	node_id at = 0;

	for (node_id n = leaf; n; n = t->p->nodes.at[n].parent)
		if (is_level(t->p, n))
			vec_push(&levels, t->p->nodes.at[n].frame);
	for (size_t i = levels.nr; i-- > 0;)
		at = child(t, at, levels.at[i]);
	for (node_id n = leaf; n; n = t->p->nodes.at[n].parent)
		if (!is_level(t->p, n))
			at = child(t, at, t->p->nodes.at[n].frame);
	vec_fini(&levels);
	return at;
}

void profile_reverse(struct profile *p)
{
	struct turning t = { .p = p };
	node_id *at = xcalloc(p->nodes.nr + 1, sizeof(at[0]));
	bool *has_weight = xcalloc(p->nodes.nr + 1, sizeof(has_weight[0]));

	vec_push(&t.nodes.all, (struct profile_node){ 0 });
	vec_each(w, &p->weights)
		has_weight[w->node] = true;
	for (node_id n = 1; n < p->nodes.nr; n++)
		if (has_weight[n])
			at[n] = turn(&t, n);
	profile_move(p, &t.nodes, at);
	dict_fini(&t.by_key);
	free(has_weight);
	free(at);
}
