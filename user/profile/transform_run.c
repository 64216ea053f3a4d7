/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies transforms: each maps the nodes of a tree to the nodes of a new one.
 * Part of profile/transform.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/time.h"
#include "base/vec.h"
#include "profile/frames/frame.h"
#include "profile/frames/method.h"
#include "profile/frames/pattern.h"
#include "profile/transform.h"

#define FRAME_NONE UINT32_MAX
#define ADDED_MAX  (64u << 20) /* most bytes of new names; the page has the same limit */

/*
 * A profile's frames by the names that stacks are written with. Includes the frames that replacing
 * adds.
 */
struct framename {
	char *own; /* copy of a name that contains ';', with ':' instead, as ';' separates frames;
		      else NULL */
	const char *text;
	frame_id method;    /* one frame that stands for all tiers of the method */
	frame_id next_same; /* the next frame with the same text, FRAME_NONE at the end */
	u32 stack;          /* the last marked stack that contains it, and its depth there */
	u32 depth;
};

struct framenames {
	struct frames *frames;
	VEC(struct framename) all; /* by frame */
	struct dict by_text;       /* hash -> 1 + first frame of a text; equal hashes probe on */
	u32 stack;                 /* number of stacks marked so far */
	u64 added_bytes;           /* bytes of the names that replacing has added */
};

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

static void framenames_init(struct framenames *n, struct frames *frames)
{
	frame_id *method_of = frames_methods(frames);

	*n = (struct framenames){ .frames = frames, .stack = 1 };
	for (frame_id f = 0; f < frames_nr(frames); f++)
		add_frame(n, f, method_of[f]);
	free(method_of);
}

static void framenames_fini(struct framenames *n)
{
	vec_each(name, &n->all)
		free(name->own);
	vec_fini(&n->all);
	dict_fini(&n->by_text);
}

/*
 * Marks the frames of a stack. framenames_named prefers them until the next call, the deepest one
 * first.
 */
static void framenames_mark_stack(struct framenames *n, const frame_id *frames, u32 nr)
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

/*
 * Returns a frame of that name. It prefers a frame of the marked stack, then one of the kind and
 * module of `like` (FRAME_NONE: no preference), then any known one, then a new one. Returns
 * FRAME_NONE if the text is too long for a name, or if the new names take too many bytes.
 */
static frame_id framenames_named(struct framenames *n, const char *text, frame_id like)
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

#define DEEPEST   65000 /* most frames of a stack after replacing; the page has the same limit */
#define NODES_MAX (200u << 20)
#define ASK_EVERY 256 /* frames between two looks at the clock */

/* The stacks between two transforms. */
struct run {
	struct profile *p;
	struct framenames names;
	struct node_list now, next; /* a parent's number is smaller than its child's */
	struct dict next_by_key;    /* (parent in `next` << 32 | frame) -> node */
	node_id *where; /* by node of the profile: the node of `now` that has its weights */
	u64 until_ns;
};

/* The run of one transform. */
struct pass {
	struct run *run;
	const struct transform *t;
	struct pattern what;
	u8 *marks, *ends;       /* by frame */
	const frame_id *rename; /* by frame: its new frame; FRAME_NONE removes it */
	frame_id joined;        /* stands for the marked frames */
	u32 *state;             /* by node; the verb defines the meaning */
};

static int too_slow(struct str *why)
{
	str_add(why, "this pattern takes too long");
	return -EDOM;
}

/* The error for too much text: each replacing can double the length of names. */
static int too_long(struct str *why)
{
	str_add(why, "this makes names or stacks too long");
	return -E2BIG;
}

/* Adds the sentence for the error that stopped a transform. */
static int say_why(int err, struct str *why)
{
	return err == -E2BIG ? too_long(why) : too_slow(why);
}

/* Whether the time is up. Looks at the clock once in ASK_EVERY calls; `i` counts them. */
static bool is_over(const struct run *r, u32 i)
{
	return i % ASK_EVERY == 0 && time_mono_ns() > r->until_ns;
}

static node_id add(struct run *r, node_id up, frame_id frame)
{
	u64 *node = dict_add(&r->next_by_key, (u64)up << 32 | frame);

	if (!*node) {
		*node = r->next.all.nr;
		vec_push(&r->next.all, (struct profile_node){ up, frame });
	}
	return (node_id)*node;
}

static void begin_next(struct run *r)
{
	vec_push(&r->next.all, (struct profile_node){ 0 });
}

/* Makes `next` the current tree; at[n] is the place of node n of `now` in it. */
static void follow(struct run *r, const node_id *at)
{
	for (node_id i = 0; i < r->p->nodes.nr; i++)
		if (r->where[i] != NODE_NONE)
			r->where[i] = at[r->where[i]];
	vec_fini(&r->now.all);
	r->now = r->next;
	r->next = (struct node_list){ 0 };
	dict_fini(&r->next_by_key);
}

/* The step functions return where node i goes when its caller went to `up`. */

static node_id step_focus(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	if (up != NODE_NONE)
		return add(x->run, up, n->frame);
	return x->marks[n->frame] ? add(x->run, 0, n->frame) : NODE_NONE;
}

static node_id step_drop(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	return x->marks[n->frame] ? up : add(x->run, up, n->frame);
}

static node_id step_above(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	bool is_cut = x->state[n->parent];

	x->state[i] = is_cut || x->marks[n->frame];
	return is_cut ? up : add(x->run, up, n->frame);
}

static node_id step_below(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	return add(x->run, x->marks[n->frame] ? 0 : up, n->frame);
}

static frame_id method_at(const struct run *r, node_id next)
{
	return r->names.all.at[r->next.all.at[next].frame].method;
}

static node_id step_recursion(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	const struct run *r = x->run;

	if (up && x->marks[n->frame] && method_at(r, up) == r->names.all.at[n->frame].method)
		return up;
	return add(x->run, up, n->frame);
}

static node_id step_gaps(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	const struct run *r = x->run;
	frame_id method = r->names.all.at[n->frame].method;

	for (node_id u = x->marks[n->frame] ? up : 0; u; u = r->next.all.at[u].parent)
		if (method_at(r, u) == method)
			return u;
	return add(x->run, up, n->frame);
}

/*
 * Keeps the outermost marked frame. Removes the frames between it and the last end towards the
 * leaf.
 */
static node_id step_fold(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	node_id from = x->state[n->parent];
	node_id at = add(x->run, from && x->ends[n->frame] ? from : up, n->frame);

	x->state[i] = from ?: x->marks[n->frame] ? at : 0;
	return at;
}

static node_id step_join(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	const struct run *r = x->run;

	if (!x->marks[n->frame])
		return add(x->run, up, n->frame);
	if (up && method_at(r, up) == r->names.all.at[x->joined].method)
		return up;
	return add(x->run, up, x->joined);
}

static node_id step_rename(struct pass *x, const struct profile_node *n, node_id i, node_id up)
{
	frame_id frame = x->rename[n->frame];

	return frame == FRAME_NONE ? up : add(x->run, up, frame);
}

static node_id (*const steps[NR_TRANSFORM_VERBS])(struct pass *, const struct profile_node *,
						  node_id, node_id) = {
	[TRANSFORM_FOCUS] = step_focus,         [TRANSFORM_DROP] = step_drop,
	[TRANSFORM_ABOVE] = step_above,         [TRANSFORM_BELOW] = step_below,
	[TRANSFORM_RECURSION] = step_recursion, [TRANSFORM_GAPS] = step_gaps,
	[TRANSFORM_FOLD] = step_fold,           [TRANSFORM_REPLACE] = step_rename,
	[TRANSFORM_JOIN] = step_join,
};

static int move(struct pass *x, struct str *why)
{
	struct run *r = x->run;
	node_id *at = xcalloc(r->now.all.nr, sizeof(at[0]));
	bool is_late = is_over(r, 0);

	x->state = xcalloc(r->now.all.nr, sizeof(x->state[0]));
	begin_next(r);
	at[0] = x->t->verb == TRANSFORM_FOCUS ? NODE_NONE : 0;
	for (node_id i = 1; i < r->now.all.nr && !is_late; i++) {
		const struct profile_node *n = &r->now.all.at[i];
		at[i] = steps[x->t->verb](x, n, i, at[n->parent]);
		is_late = is_over(r, i);
	}
	if (!is_late)
		follow(r, at);
	free(at);
	free(x->state);
	return is_late ? too_slow(why) : 0;
}

/* Returns a byte per frame: whether its name matches the pattern. */
static int mark_names(const struct run *r, const struct pattern *what, u8 **out, struct str *why)
{
	u8 *marks = xcalloc(r->names.all.nr + 1, 1);

	for (frame_id f = 0; f < r->names.all.nr; f++) {
		int found = what->kinds
				    ? (int)(what->kinds >> frames_get(r->p->frames, f)->kind & 1)
				    : pattern_is_in_name(what, r->names.all.at[f].text);
		if (found < 0 || is_over(r, f)) {
			free(marks);
			return too_slow(why);
		}
		marks[f] = (u8)found;
	}
	*out = marks;
	return 0;
}

/* A stack as ";root;...;leaf;", and its frames. */
struct stack_text {
	struct str text;
	VEC(frame_id) frames;
};

static void stack_text_make(const struct run *r, node_id leaf, struct stack_text *s)
{
	s->frames.nr = 0;
	str_clear(&s->text);
	str_add(&s->text, ";");
	for (node_id n = leaf; n; n = r->now.all.at[n].parent)
		vec_push(&s->frames, r->now.all.at[n].frame);
	for (size_t low = 0, high = s->frames.nr; low + 1 < high; low++) {
		frame_id f = s->frames.at[low];
		s->frames.at[low] = s->frames.at[--high];
		s->frames.at[high] = f;
	}
	vec_each(f, &s->frames) {
		str_add(&s->text, r->names.all.at[*f].text);
		str_add_char(&s->text, ';');
	}
}

static void stack_text_fini(struct stack_text *s)
{
	str_fini(&s->text);
	vec_fini(&s->frames);
}

/* Returns a byte per node: whether it has a weight. */
static u8 *weighty_nodes(const struct run *r)
{
	u8 *has_weight = xcalloc(r->now.all.nr, 1);

	vec_each(w, &r->p->weights)
		if (w->value && r->where[w->node] != NODE_NONE)
			has_weight[r->where[w->node]] = 1;
	has_weight[0] = 0;
	return has_weight;
}

/* Calls `visit` with every stack that has a weight. Stops at an error. */
static int each_stack(struct pass *x, int (*visit)(struct pass *, node_id, struct stack_text *))
{
	struct stack_text s = { 0 };
	u8 *is_asked = weighty_nodes(x->run);
	int err = 0;

	for (node_id i = 1; i < x->run->now.all.nr && !err; i++) {
		if (!is_asked[i])
			continue;
		stack_text_make(x->run, i, &s);
		err = visit(x, i, &s);
		if (time_mono_ns() > x->run->until_ns)
			err = -EDOM;
	}
	stack_text_fini(&s);
	free(is_asked);
	return err;
}

static int note_hit(struct pass *x, node_id i, struct stack_text *s)
{
	int found = pattern_is_in(&x->what, s->text.at, s->text.len);

	x->state[i] = found > 0;
	return found < 0 ? found : 0;
}

static int find_hits(struct pass *x, struct str *why)
{
	const struct run *r = x->run;

	if (!x->what.is_local)
		return each_stack(x, note_hit) ? too_slow(why) : 0;
	/* The bits of the parts of "/A/ & /B/" by node, then whether all are set. */
	u32 bit = 1, all = 0;
	int err = 0;
	for (const struct pattern *p = &x->what; p && !err; p = p->also, bit <<= 1) {
		struct pattern part = *p;
		part.also = NULL;
		free(take(x->marks));
		err = bit ? mark_names(r, &part, &x->marks, why) : too_slow(why);
		all |= bit;
		for (node_id i = 1; !err && i < r->now.all.nr; i++) {
			const struct profile_node *n = &r->now.all.at[i];
			x->state[i] |= (x->state[n->parent] | (x->marks[n->frame] ? bit : 0)) & bit;
		}
	}
	for (node_id i = 1; !err && i < r->now.all.nr; i++)
		x->state[i] = x->state[i] == all;
	return err;
}

static int keep(struct pass *x, bool wanted, struct str *why)
{
	struct run *r = x->run;

	x->state = xcalloc(r->now.all.nr, sizeof(x->state[0]));
	int err = find_hits(x, why);
	for (node_id i = 0; !err && i < r->p->nodes.nr; i++)
		if (r->where[i] != NODE_NONE && x->state[r->where[i]] != wanted)
			r->where[i] = NODE_NONE;
	free(x->state);
	return err;
}

static node_id copy_path(struct run *r, const struct stack_text *s)
{
	node_id at = 0;

	vec_each(f, &s->frames)
		at = add(r, at, *f);
	return at;
}

/*
 * Adds the path of a text ";a;b;"; empty names are not frames. Modifies `text`. May return -E2BIG.
 */
static int add_words(struct run *r, char *text, const struct stack_text *old, node_id *out)
{
	VEC(const char *) words = { 0 };
	node_id at = 0;
	char *rest = text, *word;

	while ((word = strsep(&rest, ";")))
		if (*word)
			vec_push(&words, word);
	framenames_mark_stack(&r->names, old->frames.at, (u32)old->frames.nr);
	bool same_depth = words.nr == old->frames.nr;
	int err = 0;
	for (size_t i = 0; i < words.nr && i < DEEPEST && !err; i++) {
		frame_id like = same_depth ? old->frames.at[i] : FRAME_NONE;
		frame_id f = framenames_named(&r->names, words.at[i], like);
		if (f == FRAME_NONE)
			err = -E2BIG;
		else
			at = add(r, at, f);
	}
	vec_fini(&words);
	*out = at;
	return err;
}

static int replace_text(struct pass *x, node_id i, struct stack_text *s)
{
	auto_str struct str changed = { 0 };
	int err = pattern_replace(&x->what, s->text.at, s->text.len, x->t->to, &changed);
	bool any = err > 0;

	if (err < 0)
		return err;
	if (!any || (changed.len == s->text.len && !memcmp(changed.at, s->text.at, changed.len)))
		x->state[i] = copy_path(x->run, s);
	else if ((err = add_words(x->run, changed.at, s, &x->state[i])))
		return err;
	return x->run->next.all.nr > NODES_MAX ? -EDOM : 0;
}

static int replace_texts(struct pass *x, struct str *why)
{
	struct run *r = x->run;

	x->state = xcalloc(r->now.all.nr, sizeof(x->state[0]));
	begin_next(r);
	int err = each_stack(x, replace_text);
	if (!err)
		follow(r, x->state);
	free(x->state);
	return err ? say_why(err, why) : 0;
}

/* Sets the new frame of each frame. */
static int rename_frames(struct pass *x, frame_id *renamed, u32 nr, struct str *why)
{
	struct framenames *names = &x->run->names;
	auto_str struct str changed = { 0 };

	framenames_mark_stack(names, NULL, 0);
	for (frame_id f = 0; f < nr; f++) {
		const char *old = names->all.at[f].text;
		str_clear(&changed);
		str_add(&changed, "");
		int any = pattern_replace(&x->what, old, strlen(old), x->t->to, &changed);
		if (any < 0 || is_over(x->run, f))
			return say_why(any, why);
		if (!any || !strcmp(old, changed.at))
			renamed[f] = f;
		else if (!*changed.at)
			renamed[f] = FRAME_NONE;
		else if ((renamed[f] = framenames_named(names, changed.at, f)) == FRAME_NONE)
			return too_long(why);
	}
	return 0;
}

static int replace(struct pass *x, struct str *why)
{
	if (!pattern_replaces_names(&x->what, x->t->to))
		return replace_texts(x, why);

	u32 nr = (u32)x->run->names.all.nr;
	frame_id *renamed = xcalloc(nr + 1, sizeof(renamed[0]));
	int err = rename_frames(x, renamed, nr, why);
	x->rename = renamed;
	err = err ?: move(x, why);
	free(renamed);
	return err;
}

/* Joins marked frames that call each other into one frame of the name `to`. */
static int join(struct pass *x, struct str *why)
{
	struct framenames *names = &x->run->names;
	auto_free char *to = xstrdup(x->t->to);
	frame_id first = 0;
	int err = mark_names(x->run, &x->what, &x->marks, why);

	if (err)
		return err;
	while (first < names->all.nr && !x->marks[first])
		first++;
	if (first == names->all.nr)
		return 0;
	for (char *c = to; (c = strchr(c, ';'));)
		*c = ':';
	u32 nr = (u32)names->all.nr;
	framenames_mark_stack(names, NULL, 0);
	x->joined = framenames_named(names, to, first);
	if (x->joined == FRAME_NONE)
		return too_long(why);
	if (names->all.nr > nr) { /* the new frame is in no stack yet */
		u8 *marks = xcalloc(names->all.nr + 1, 1);
		memcpy(marks, x->marks, nr);
		free(x->marks);
		x->marks = marks;
	}
	return move(x, why);
}

static int run_verb(struct pass *x, struct str *why)
{
	struct pattern ends;
	int err;

	switch (x->t->verb) {
	case TRANSFORM_FILTER:
	case TRANSFORM_REMOVE:
		return keep(x, x->t->verb == TRANSFORM_FILTER, why);
	case TRANSFORM_REPLACE:
		return replace(x, why);
	case TRANSFORM_JOIN:
		return join(x, why);
	case TRANSFORM_FOLD:
		err = pattern_init(&ends, x->t->to, why);
		if (err)
			return err;
		pattern_set_end(&ends, x->run->until_ns);
		err = mark_names(x->run, &ends, &x->ends, why);
		pattern_fini(&ends);
		break;
	default:
		err = 0;
	}
	return err ?: mark_names(x->run, &x->what, &x->marks, why) ?: move(x, why);
}

static bool does_nothing(const struct transform *t)
{
	bool is_for_all = t->verb == TRANSFORM_RECURSION || t->verb == TRANSFORM_GAPS;

	bool needs_to = t->verb == TRANSFORM_FOLD || t->verb == TRANSFORM_JOIN;

	return t->is_off || (!*t->what && !is_for_all) || (needs_to && !*t->to);
}

static int apply_one(struct run *r, const struct transform *t, struct str *why)
{
	struct pass x = { .run = r, .t = t };
	int err = pattern_init(&x.what, t->what, why);

	if (!err) {
		pattern_set_end(&x.what, r->until_ns);
		err = run_verb(&x, why);
	}
	pattern_fini(&x.what);
	free(x.marks);
	free(x.ends);
	return err;
}

static void run_init(struct run *r, struct profile *p, u64 most_ns)
{
	*r = (struct run){ .p = p, .until_ns = time_mono_ns() + most_ns };
	framenames_init(&r->names, p->frames);
	vec_reserve(&r->now.all, p->nodes.nr);
	memcpy(r->now.all.at, p->nodes.at, p->nodes.nr * sizeof(p->nodes.at[0]));
	r->now.all.nr = p->nodes.nr;
	r->where = xcalloc(p->nodes.nr, sizeof(r->where[0]));
	for (node_id i = 0; i < p->nodes.nr; i++)
		r->where[i] = i;
}

static void run_fini(struct run *r)
{
	framenames_fini(&r->names);
	vec_fini(&r->now.all);
	vec_fini(&r->next.all);
	dict_fini(&r->next_by_key);
	free(r->where);
}

int transforms_apply(const struct transforms *list, struct profile *p, u64 most_ns, struct str *why)
{
	auto_str struct str reason = { 0 };
	struct run r;
	int err = 0;

	run_init(&r, p, most_ns);
	vec_each(t, &list->all) {
		if (does_nothing(t))
			continue;
		err = apply_one(&r, t, &reason);
		if (err) {
			str_addf(why, "'%s': %s", t->what, reason.at);
			break;
		}
	}
	if (!err) {
		profile_move(p, &r.now, r.where);
		profile_forget_hidden(p);
	}
	run_fini(&r);
	return err;
}
