/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks told apart by who ran them. */
#include "export/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "export/labelset.h"

#define BY_TIER "tier"

/* As user/export/page/base.js has them. */
static const char *const kind_titles[NR_FRAME_KINDS] = {
	[FRAME_UNKNOWN] = "unknown",
	[FRAME_KERNEL] = "kernel",
	[FRAME_NATIVE] = "native",
	[FRAME_JVM] = "JVM (C++)",
	[FRAME_INTERPRETED] = "Java, interpreted",
	[FRAME_C1] = "Java, C1",
	[FRAME_C2] = "Java, C2",
	[FRAME_INLINED] = "Java, inlined",
	[FRAME_GROUP] = "process or thread",
	[FRAME_STUB] = "code made by the JVM",
	[FRAME_CLASS] = "class of an object",
};

struct splitter {
	struct profile *p;
	int dim; /* -1: by tier */
	struct node_list nodes;
	struct dict known; /* (level, node) -> new node */
};

static bool is_told(const struct profile *p, enum label dim)
{
	vec_each(l, &p->labels)
		if (*l->text[dim])
			return true;
	return false;
}

static int find_dim(const struct profile *p, const char *by, int *dim, struct str *why)
{
	*dim = labelsets_dim_find(by);
	if (!strcmp(by, BY_TIER) ||
	    (*dim >= 0 && *dim != LABEL_TIME && is_told(p, (enum label) * dim)))
		return 0;
	str_addf(why, "the profile does not tell it; it tells ");
	for (enum label i = 0; i < NR_LABELS; i++)
		if (i != LABEL_TIME && is_told(p, i))
			str_addf(why, "%s, ", labelsets_dim_name(i));
	str_add(why, BY_TIER);
	return -EINVAL;
}

static node_id add_node(struct splitter *s, node_id parent, frame_id frame)
{
	vec_push(&s->nodes.all, (struct node){ parent, frame });
	return (node_id)(s->nodes.all.nr - 1);
}

static frame_id level_frame(struct splitter *s, const struct weight *w)
{
	struct profile *p = s->p;

	if (s->dim < 0) {
		enum frame_kind kind =
			w->node ? frames_get(p->frames, p->nodes.at[w->node].frame)->kind
				: FRAME_UNKNOWN;
		return frames_intern(p->frames, FRAME_GROUP, kind_titles[kind], "");
	}
	auto_free char *text = labelsets_text(&p->labels.at[w->labels], (enum label)s->dim);
	return frames_intern(p->frames, FRAME_GROUP, *text ? text : "(none)", "");
}

/* Parents have smaller numbers, so a path is made from its first unknown node on. */
static node_id node_below(struct splitter *s, frame_id level, node_id node)
{
	VEC(node_id) missing = { 0 };
	u64 *known;

	while (!*(known = dict_add(&s->known, (u64)level << 32 | node))) {
		vec_push(&missing, node);
		node = s->p->nodes.at[node].parent;
	}
	node_id at = (node_id)*known;
	while (missing.nr) {
		node_id n = missing.at[--missing.nr];
		at = add_node(s, at, s->p->nodes.at[n].frame);
		*dict_add(&s->known, (u64)level << 32 | n) = at;
	}
	vec_fini(&missing);
	return at;
}

static void start_level(struct splitter *s, frame_id level)
{
	u64 *root = dict_add(&s->known, (u64)level << 32);

	if (!*root)
		*root = add_node(s, 0, level);
}

int profile_split_check(const struct profile *p, const char *by, struct str *why)
{
	int dim;

	return find_dim(p, by, &dim, why);
}

int profile_split(struct profile *p, const char *by, struct str *why)
{
	struct splitter s = { .p = p };
	int err = find_dim(p, by, &s.dim, why);

	if (err)
		return err;
	add_node(&s, 0, 0);
	vec_each(w, &p->weights) {
		frame_id level = level_frame(&s, w);
		start_level(&s, level);
		w->node = node_below(&s, level, w->node);
	}

	/* The weights know their new nodes already. */
	node_id *same = xcalloc(s.nodes.all.nr, sizeof(same[0]));
	for (node_id n = 0; n < s.nodes.all.nr; n++)
		same[n] = n;
	profile_move(p, &s.nodes, same);
	free(same);
	dict_fini(&s.known);
	return 0;
}
