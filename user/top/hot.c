/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest methods of each process, over the samples of the last seconds. */
#include "top/hot.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dict.h"

#define NAMES_MAX 20000 /* at this number all names are forgotten, with the samples */
#define DEPTH_MAX 4096
#define SLOTS_MAX 600

/* A method of a process in one profile. */
struct part {
	u32 pid, name; /* `name`: its number */
	u64 self, total;
};

#define ALL_SAMPLES UINT32_MAX /* in part.name: `self` has the number of the process's samples */

struct slot {
	u64 end_ns;
	VEC(struct part) parts;
};

struct name {
	char *text;
	bool is_java;
};

struct hot {
	VEC(struct name) names;
	struct dict by_text;    /* hash_keyed -> number + 1 */
	VEC(struct slot) slots; /* oldest first */
};

struct hot *hot_new(void)
{
	return xcalloc(1, sizeof(struct hot));
}

static void forget(struct hot *h)
{
	vec_each(n, &h->names)
		free(n->text);
	vec_each(s, &h->slots)
		vec_fini(&s->parts);
	vec_fini(&h->names);
	vec_fini(&h->slots);
	dict_fini(&h->by_text);
}

void hot_free(struct hot *h)
{
	if (!h)
		return;
	forget(h);
	free(h);
}

static bool is_java(enum frame_kind kind)
{
	return kind >= FRAME_INTERPRETED && kind <= FRAME_INLINED;
}

static u32 intern(struct hot *h, const struct frame *f)
{
	u64 *at = dict_add(&h->by_text, hash_keyed(f->name, strlen(f->name)));

	if (!*at) {
		struct name new = { xstrdup(f->name), is_java(f->kind) };
		vec_push(&h->names, new);
		*at = h->names.nr;
	}
	return (u32)(*at - 1);
}

/* The parts of the slot that is being filled. */
struct filling {
	struct slot *slot;
	struct dict by_key;   /* pid and name -> index + 1 in parts */
	struct dict on_stack; /* name -> number of the last stack that has it */
	u64 nr_stacks;
};

static struct part *part_of(struct filling *f, u32 pid, u32 name)
{
	u64 *at = dict_add(&f->by_key, (u64)pid << 32 | name);

	if (!*at) {
		struct part new = { .pid = pid, .name = name };
		vec_push(&f->slot->parts, new);
		*at = f->slot->parts.nr;
	}
	return &f->slot->parts.at[*at - 1];
}

static void add_stack(struct hot *h, struct filling *f, const struct profile *p,
		      const struct weight *w)
{
	u32 pid = p->labels.at[w->labels].pid;
	node_id at = w->node;

	f->nr_stacks++;
	part_of(f, pid, ALL_SAMPLES)->self += w->value;
	for (u32 depth = 0; at && depth < DEPTH_MAX; depth++, at = p->nodes.at[at].parent) {
		u32 name = intern(h, frames_get(p->frames, p->nodes.at[at].frame));
		u64 *last = dict_add(&f->on_stack, name);

		if (!depth)
			part_of(f, pid, name)->self += w->value;
		if (*last != f->nr_stacks)
			part_of(f, pid, name)->total += w->value;
		*last = f->nr_stacks;
	}
}

static void drop_oldest(struct hot *h)
{
	vec_fini(&h->slots.at[0].parts);
	memmove(h->slots.at, h->slots.at + 1, --h->slots.nr * sizeof(h->slots.at[0]));
}

void hot_add(struct hot *h, const struct profile *p, u64 now_ns)
{
	struct filling f = { 0 };

	if (h->names.nr > NAMES_MAX)
		forget(h);
	while (h->slots.nr &&
	       (h->slots.nr == SLOTS_MAX || h->slots.at[0].end_ns + HOT_WINDOW_NS < now_ns))
		drop_oldest(h);
	struct slot new = { .end_ns = now_ns };
	vec_push(&h->slots, new);
	f.slot = &h->slots.at[h->slots.nr - 1];
	vec_each(w, &p->weights)
		if (!w->type)
			add_stack(h, &f, p, w);
	dict_fini(&f.by_key);
	dict_fini(&f.on_stack);
}

static int by_self(const void *a, const void *b)
{
	const struct hot_method_share *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void add_part(const struct hot *h, const struct part *part, struct dict *by_name,
		     struct hot_list *out)
{
	if (part->name == ALL_SAMPLES) {
		out->nr_samples += part->self;
		return;
	}
	u64 *at = dict_add(by_name, part->name);
	if (!*at) {
		const struct name *n = &h->names.at[part->name];
		struct hot_method_share new = { .name = n->text, .is_java = n->is_java };
		vec_push(&out->all, new);
		*at = out->all.nr;
	}
	out->all.at[*at - 1].self += part->self;
	out->all.at[*at - 1].total += part->total;
}

void hot_find(const struct hot *h, pid_t pid, u64 now_ns, struct hot_list *out)
{
	struct dict by_name = { 0 };

	out->all.nr = 0;
	out->nr_samples = 0;
	vec_each(s, &h->slots) {
		if (s->end_ns + HOT_WINDOW_NS < now_ns)
			continue;
		vec_each(part, &s->parts)
			if (part->pid == (u32)pid)
				add_part(h, part, &by_name, out);
	}
	if (out->all.nr)
		qsort(out->all.at, out->all.nr, sizeof(out->all.at[0]), by_self);
	dict_fini(&by_name);
}

void hot_list_fini(struct hot_list *l)
{
	vec_fini(&l->all);
}
