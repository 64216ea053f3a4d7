/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the methods of a profile by cost. Part of profile/tree.h. */
#include <string.h>

#include "profile/frames/method.h"
#include "profile/tree.h"

/* The sums of one name. */
struct sum {
	struct hot_method method;
	u64 largest; /* the largest self weight of one node of method.frame */
	u32 nr_open; /* nodes of the name on the current path */
};

static int by_name(const void *a, const void *b, void *frames)
{
	return strcmp(frames_get(frames, *(const frame_id *)a)->name,
		      frames_get(frames, *(const frame_id *)b)->name);
}

/* Returns the number of each frame's name, indexed by frame. The caller frees the array. */
static u32 *number_names(const struct frames *frames, u32 *nr_names)
{
	u32 nr = frames_nr(frames);
	frame_id *order = xcalloc(nr + 1, sizeof(order[0]));
	u32 *name_of = xcalloc(nr + 1, sizeof(name_of[0]));

	for (u32 i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(order[0]), by_name, (void *)frames);
	*nr_names = 0;
	for (u32 i = 0; i < nr; i++) {
		if (!i || by_name(&order[i - 1], &order[i], (void *)frames))
			++*nr_names;
		name_of[order[i]] = *nr_names - 1;
	}
	free(order);
	return name_of;
}

static void enter(const struct tree_node *n, struct sum *sum)
{
	if (!sum->nr_open++)
		sum->method.total += n->total;
	if (!sum->method.self || n->self > sum->largest) {
		sum->method.frame = sum->method.leaf = n->frame;
		sum->largest = n->self;
	}
	sum->method.self += n->self;
}

bool hot_is_wait(const struct value_type *type)
{
	static const char *const names[] = { "offcpu", "lock", "nativelock" };
	bool is_wait = false;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);
		bool is_named = !strncmp(type->name, names[i], len);
		is_wait |= is_named && !strcmp(type->name + len, "") && !strcmp(type->unit, "ns");
		is_wait |= is_named && !strcmp(type->name + len, "-waits");
	}
	return is_wait;
}

static bool starts_with_any(const char *text, const char *const *starts, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* How well a frame names the code that waits. */
enum own {
	OWN_NOT,     /* the kernel, the class of a lock */
	OWN_LIBRARY, /* libc, and code of unknown libraries */
	OWN_RUNTIME, /* the JVM, and libraries of the language */
	OWN_APPLICATION,
};

static enum own own_of(const struct frame *f)
{
	static const char *const packages[] = { "java.",    "java/",    "javax.", "javax/",
						"jdk.",     "jdk/",     "sun.",   "sun/",
						"com.sun.", "com/sun/", "scala.", "scala/",
						"kotlin.",  "kotlin/" };
	static const char *const libraries[] = { "libc.so", "libc-2",  "libpthread", "ld-linux",
						 "ld-musl", "libjli.", "libjava.",   "libnio.",
						 "libnet.", "[vdso]",  "[unknown]" };
	const char *slash = strrchr(f->module, '/'), *file = slash ? slash + 1 : f->module;

	if (frame_kind_is_java(f->kind))
		return starts_with_any(f->name, packages, ARRAY_SIZE(packages)) ? OWN_RUNTIME
										: OWN_APPLICATION;
	if (f->kind == FRAME_JVM)
		return OWN_RUNTIME;
	if (f->kind != FRAME_NATIVE || (!*file && f->name[0] == '['))
		return OWN_NOT;
	bool is_library = !*file || starts_with_any(file, libraries, ARRAY_SIZE(libraries));
	return is_library ? OWN_LIBRARY : OWN_APPLICATION;
}

/* The frame that names the waiting code best; of several the nearest one to the leaf. */
static u32 own_node(const struct profile *p, const struct tree *t, u32 leaf)
{
	enum own best = OWN_NOT;
	u32 node = leaf;

	for (u32 at = leaf; at && best < OWN_APPLICATION; at = t->nodes.at[at].parent) {
		enum own own = own_of(frames_get(p->frames, t->nodes.at[at].frame));
		if (own > best) {
			best = own;
			node = at;
		}
	}
	return node;
}

/* Moves the weights of leaves to the frames that wait in them. */
static void move_to_owners(const struct profile *p, const struct tree *t, const u32 *name_of,
			   struct sum *sums, u32 nr_names)
{
	for (u32 i = 0; i < nr_names; i++)
		sums[i].method.self = sums[i].largest = 0;
	for (u32 i = 1; i < t->nodes.nr; i++) {
		const struct tree_node *n = &t->nodes.at[i];
		if (!n->self)
			continue;
		frame_id own = t->nodes.at[own_node(p, t, i)].frame;
		struct sum *sum = &sums[name_of[own]];
		if (n->self > sum->largest) {
			sum->method.frame = own;
			sum->method.leaf = n->frame;
			sum->method.is_last = own_of(frames_get(p->frames, own)) != OWN_APPLICATION;
			sum->largest = n->self;
		}
		sum->method.self += n->self;
	}
}

static void walk(const struct tree *t, const u32 *name_of, struct sum *sums)
{
	const struct tree_node *nodes = t->nodes.at;
	u32 at = nodes[0].first;

	while (at) {
		enter(&nodes[at], &sums[name_of[nodes[at].frame]]);
		if (nodes[at].first) {
			at = nodes[at].first;
			continue;
		}
		for (;;) {
			sums[name_of[nodes[at].frame]].nr_open--;
			if (nodes[at].next) {
				at = nodes[at].next;
				break;
			}
			at = nodes[at].parent;
			if (!at)
				return;
		}
	}
}

static int by_self(const void *a, const void *b, void *frames)
{
	const struct hot_method *x = a, *y = b;

	/* Methods without a self weight come last: a printed list ends at the first of them. */
	if (!x->self != !y->self)
		return x->self ? -1 : 1;
	if (x->is_last != y->is_last)
		return x->is_last ? 1 : -1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return by_name(&x->frame, &y->frame, frames);
}

/* A method may have no stack any more, but only a hidden total: then its frame is added here. */
static frame_id *hidden_frames(const struct profile *p, u32 type)
{
	frame_id *ids = xcalloc(p->hidden.nr + 1, sizeof(ids[0]));

	for (size_t i = 0; i < p->hidden.nr; i++) {
		const struct hidden_total *h = &p->hidden.at[i];
		if (h->type == type)
			ids[i] = frames_intern(p->frames, h->kind, h->name, h->module);
	}
	return ids;
}

static void add_hidden(const struct profile *p, u32 type, const frame_id *ids, const u32 *name_of,
		       struct sum *sums)
{
	for (size_t i = 0; i < p->hidden.nr; i++) {
		const struct hidden_total *h = &p->hidden.at[i];
		struct sum *sum = &sums[name_of[ids[i]]];
		if (h->type != type)
			continue;
		if (!sum->method.total)
			sum->method.frame = sum->method.leaf = ids[i];
		sum->method.total += h->value;
	}
}

static void make(const struct profile *p, const struct tree *t, bool is_wait,
		 struct hot_methods *out)
{
	frame_id *hidden = hidden_frames(p, t->type);
	u32 nr_names;
	u32 *name_of = number_names(p->frames, &nr_names);
	struct sum *sums = xcalloc(nr_names + 1, sizeof(sums[0]));

	*out = (struct hot_methods){ 0 };
	walk(t, name_of, sums);
	add_hidden(p, t->type, hidden, name_of, sums);
	if (is_wait)
		move_to_owners(p, t, name_of, sums, nr_names);
	for (u32 i = 0; i < nr_names; i++)
		if (sums[i].method.total)
			vec_push(&out->all, sums[i].method);
	if (out->all.nr)
		qsort_r(out->all.at, out->all.nr, sizeof(out->all.at[0]), by_self, p->frames);
	free(sums);
	free(name_of);
	free(hidden);
}

void hot_methods_make(const struct profile *p, const struct tree *t, struct hot_methods *out)
{
	make(p, t, false, out);
}

void hot_waits_make(const struct profile *p, const struct tree *t, struct hot_methods *out)
{
	make(p, t, true, out);
}

void hot_methods_fini(struct hot_methods *h)
{
	vec_fini(&h->all);
}
