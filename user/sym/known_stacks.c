/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that have names already. */
#include "sym/known_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"

#define STACK_PRIME 0x100000001b3ull /* of FNV-1a; a stack that is found is compared */

typedef u32 known_id; /* of a node; 0 is the root of the tree */

struct known_node {
	struct raw_frame raw;
	known_id parent;
	u32 first, nr; /* in `frames` */
	u32 nr_without_line : 30, is_inexact : 1, is_for_ever : 1;
	/* when a temporary name was made, and the count of unloaded classes then */
	u64 named_ns, unloads;
};

/* A stack all of whose raw frames have nodes. */
struct known_stack {
	known_id leaf;
	/* until when, and at which count of unloaded classes, its temporary names hold */
	u64 until_ns, unloads;
};

struct path_node {
	struct raw_frame raw;
	known_id id;
};

struct known_tree {
	struct process_id id, jvm;
	u64 program_ns, mappings_version, version;
	bool is_jvm;
	struct dict children; /* parent and raw frame -> node */
	VEC(struct known_node) nodes;
	frame_list frames;
	struct dict stack_of; /* hash of a stack's raw frames -> index in `stacks` + 1 */
	VEC(struct known_stack) stacks;
	VEC(struct path_node) path; /* of the last stack that was searched, from the root on */
	size_t bytes;               /* that known_stacks counts */
};

static u64 child_key(known_id parent, const struct raw_frame *raw)
{
	u64 rest = raw->detail ^ (u64)parent << 32 ^ (u64)raw->kind << 28 ^ (u64)raw->is_leaf << 27;

	return hash_u64(raw->at ^ hash_u64(rest));
}

static bool is_same(const struct raw_frame *a, const struct raw_frame *b)
{
	return a->at == b->at && a->detail == b->detail && a->kind == b->kind &&
	       a->is_leaf == b->is_leaf;
}

/* The node of a raw frame below `parent`; 0, the root's number, if there is none. */
static known_id find_child(const struct known_tree *t, known_id parent, const struct raw_frame *raw)
{
	const u64 *found = dict_find(&t->children, child_key(parent, raw));
	const struct known_node *n = found ? &t->nodes.at[*found] : NULL;

	return n && n->parent == parent && is_same(&n->raw, raw) ? (known_id)*found : 0;
}

static bool holds(const struct known_node *n, u64 now_ns, u64 unloads)
{
	return n->is_for_ever || (n->unloads == unloads && now_ns - n->named_ns < KNOWN_LASTS_NS);
}

/* The frames of an earlier name stay where they are, until the tree goes. */
static void set_frames(struct known_tree *t, struct known_node *n, const frame_id *frames, u32 nr)
{
	if (n->nr == nr && !memcmp(t->frames.at + n->first, frames, nr * sizeof(frames[0])))
		return;
	n->first = (u32)t->frames.nr;
	n->nr = nr;
	for (u32 i = 0; i < nr; i++)
		vec_push(&t->frames, frames[i]);
}

/* A name for a raw frame, with the time and the count of unloaded classes when it was made. */
struct made_name {
	const frame_id *frames;
	u32 nr;
	struct known_name name;
	u64 now_ns, unloads;
};

/* Adds a node, or gives it another name. 0: another node has the same hash. */
static known_id set_child(struct known_tree *t, known_id parent, const struct raw_frame *raw,
			  const struct made_name *made)
{
	u64 *place = dict_add(&t->children, child_key(parent, raw));

	if (!t->nodes.nr)
		vec_push(&t->nodes, (struct known_node){ 0 });
	if (!*place) {
		*place = t->nodes.nr;
		vec_push(&t->nodes, (struct known_node){ .raw = *raw, .parent = parent });
	}
	struct known_node *n = &t->nodes.at[*place];
	if (n->parent != parent || !is_same(&n->raw, raw))
		return 0;
	set_frames(t, n, made->frames, made->nr);
	n->nr_without_line = made->name.nr_without_line;
	n->is_inexact = made->name.is_inexact;
	n->is_for_ever = made->name.lasts == KNOWN_FOR_EVER;
	n->named_ns = made->now_ns;
	n->unloads = made->unloads;
	return (known_id)*place;
}

static void empty(struct known_tree *t)
{
	dict_fini(&t->children);
	t->children = (struct dict){ 0 };
	vec_fini(&t->nodes);
	vec_fini(&t->frames);
	dict_fini(&t->stack_of);
	vec_fini(&t->stacks);
	vec_fini(&t->path);
}

static size_t tree_bytes(const struct known_tree *t)
{
	return sizeof(*t) + dict_bytes(&t->children) + t->nodes.cap * sizeof(t->nodes.at[0]) +
	       t->frames.cap * sizeof(t->frames.at[0]) + dict_bytes(&t->stack_of) +
	       t->stacks.cap * sizeof(t->stacks.at[0]) + t->path.cap * sizeof(t->path.at[0]);
}

static void count(struct known_stacks *all, struct known_tree *t)
{
	size_t bytes = tree_bytes(t);

	all->bytes += bytes - t->bytes;
	t->bytes = bytes;
}

static bool is_current(const struct known_tree *t, const struct process *p, u64 version)
{
	return t->program_ns == p->program_ns && t->mappings_version == p->mappings_version &&
	       t->version == version && t->is_jvm == p->is_jvm && process_id_same(t->jvm, p->jvm);
}

static struct known_tree *find(struct known_stacks *all, struct process_id id)
{
	if (all->last && process_id_same(all->last->id, id))
		return all->last;
	u64 *slot = dict_add(&all->trees, process_id_hash(id));
	if (!*slot) {
		struct known_tree *t = xcalloc(1, sizeof(*t));
		t->id = id;
		*slot = (u64)t;
	}
	return all->last = (void *)*slot;
}

struct known_tree *known_stacks_tree(struct known_stacks *all, const struct process *p, u64 version)
{
	struct known_tree *t = find(all, p->id);

	if (is_current(t, p, version))
		return t;
	empty(t);
	t->program_ns = p->program_ns;
	t->mappings_version = p->mappings_version;
	t->version = version;
	t->is_jvm = p->is_jvm;
	t->jvm = p->jvm;
	count(all, t);
	return t;
}

/* Keeps the memory within its limits after a tree has changed. May drop this tree, or others. */
static void limit(struct known_stacks *all, struct known_tree *t)
{
	count(all, t);
	if (t->bytes > KNOWN_STACKS_SHARE) {
		empty(t);
		count(all, t);
	}
	while (all->bytes > KNOWN_STACKS_BYTES) {
		struct known_tree *largest = t;
		dict_each(slot, &all->trees) {
			struct known_tree *other = (void *)slot->value;
			if (other->bytes > largest->bytes)
				largest = other;
		}
		empty(largest);
		count(all, largest);
	}
}

/* The raw frame at a distance from the leaf: the kernel's frames come first. */
static struct raw_frame raw_at(const struct raw_stack *stack, size_t i)
{
	if (i >= stack->nr_kernel)
		return stack->user[i - stack->nr_kernel];
	return (struct raw_frame){ .kind = RAW_KERNEL, .at = stack->kernel[i] - (i > 0) };
}

/* A stack while it is named. */
struct walk {
	struct known_tree *t;
	const struct raw_stack *stack;
	u64 now_ns;
	known_name_fn name;
	void *ctx;
};

/* Whether a name that no longer holds is replaced by one that does. */
static bool name_again(const struct walk *w, known_id parent, const struct raw_frame *raw)
{
	frame_list again = { 0 };
	struct made_name made = { .now_ns = w->now_ns, .unloads = w->stack->unloads };

	w->name(w->ctx, raw, &again, &made.name);
	made.frames = again.at;
	made.nr = (u32)again.nr;
	bool is_kept = made.name.lasts != KNOWN_FOR_NOW && set_child(w->t, parent, raw, &made);
	vec_fini(&again);
	return is_kept;
}

/*
 * The node of a raw frame, `depth` raw frames from the root; 0 if it is not known. Most stacks of a
 * process have the same outer frames as the stack that was searched last. `path` has the nodes of
 * that stack: equal frames take theirs from it, and only the other frames are looked up.
 */
static known_id find_at(struct known_tree *t, size_t depth, known_id parent,
			const struct raw_frame *raw)
{
	if (depth < t->path.nr && is_same(&t->path.at[depth].raw, raw))
		return t->path.at[depth].id;
	t->path.nr = depth < t->path.nr ? depth : t->path.nr;
	known_id child = find_child(t, parent, raw);
	if (child)
		vec_push(&t->path, (struct path_node){ *raw, child });
	return child;
}

/* The deepest node whose name holds; *left raw frames, towards the leaf, have none. */
static known_id find_known(const struct walk *w, size_t *left)
{
	const size_t nr = w->stack->nr_kernel + w->stack->nr_user;
	known_id node = 0;

	for (*left = nr; *left; --*left) {
		const struct raw_frame raw = raw_at(w->stack, *left - 1);
		known_id child = find_at(w->t, nr - *left, node, &raw);
		if (!child || (!holds(&w->t->nodes.at[child], w->now_ns, w->stack->unloads) &&
			       !name_again(w, node, &raw)))
			break;
		node = child;
	}
	return node;
}

static void add_known(const struct known_tree *t, known_id node, frame_list *out,
		      struct known_stacks_sum *sum)
{
	while (node) {
		const struct known_node *n = &t->nodes.at[node];
		vec_reserve(out, n->nr);
		memcpy(out->at + out->nr, t->frames.at + n->first, n->nr * sizeof(out->at[0]));
		out->nr += n->nr;
		sum->nr_without_line += n->nr_without_line;
		sum->is_inexact |= n->is_inexact;
		node = n->parent;
	}
}

/* A raw frame that was just named. Its frames end where those of the next raw frame begin. */
struct named_raw {
	size_t first;
	struct known_name name;
};

typedef VEC(struct named_raw) named_raws;

static void name_rest(const struct walk *w, size_t nr, named_raws *rest, frame_list *out,
		      struct known_stacks_sum *sum)
{
	for (size_t i = 0; i < nr; i++) {
		const struct raw_frame raw = raw_at(w->stack, i);
		struct named_raw named = { .first = out->nr };
		w->name(w->ctx, &raw, out, &named.name);
		vec_push(rest, named);
		sum->nr_without_line += named.name.nr_without_line;
		sum->is_inexact |= named.name.is_inexact;
	}
}

/*
 * Adds the newly named raw frames below `node`, up to the first name that must not be kept. `end`:
 * the end of its frames. Returns the leaf's node; 0 if it has none.
 */
static known_id learn(const struct walk *w, known_id node, const named_raws *rest,
		      const frame_list *out, size_t end)
{
	for (size_t i = rest->nr; i-- > 0;) {
		const struct raw_frame raw = raw_at(w->stack, i);
		const struct named_raw *named = &rest->at[i];
		const struct made_name made = { .frames = out->at + named->first,
						.nr = (u32)(end - named->first),
						.name = named->name,
						.now_ns = w->now_ns,
						.unloads = w->stack->unloads };
		end = named->first;
		node = named->name.lasts == KNOWN_FOR_NOW ? 0 : set_child(w->t, node, &raw, &made);
		if (!node)
			return 0;
	}
	return node;
}

static u64 stack_hash(const struct raw_stack *stack)
{
	u64 hash = stack->nr_kernel;

	for (size_t i = 0; i < stack->nr_kernel; i++)
		hash = (hash ^ stack->kernel[i]) * STACK_PRIME;
	for (size_t i = 0; i < stack->nr_user; i++) {
		const struct raw_frame *f = &stack->user[i];
		u64 rest = f->detail << 8 ^ (u64)f->kind << 1 ^ f->is_leaf;
		hash = (hash ^ f->at ^ hash >> 32) * STACK_PRIME ^ rest;
	}
	return hash;
}

static bool is_stack(const struct known_tree *t, known_id leaf, const struct raw_stack *stack)
{
	const size_t nr = stack->nr_kernel + stack->nr_user;

	for (size_t i = 0; i < nr; i++) {
		const struct known_node *n = &t->nodes.at[leaf];
		const struct raw_frame raw = raw_at(stack, i);
		if (!leaf || !is_same(&n->raw, &raw))
			return false;
		leaf = n->parent;
	}
	return !leaf;
}

/* The node of the stack's leaf; 0 if the stack is not known, or one of its names no longer holds.
 */
static known_id find_stack(const struct walk *w, u64 hash)
{
	const u64 *index = dict_find(&w->t->stack_of, hash);
	const struct known_stack *known = index ? &w->t->stacks.at[*index - 1] : NULL;

	if (!known || w->now_ns >= known->until_ns ||
	    (known->until_ns != TIME_NEVER && known->unloads != w->stack->unloads))
		return 0;
	return is_stack(w->t, known->leaf, w->stack) ? known->leaf : 0;
}

/*
 * Remembers a stack all of whose names hold now. Of stacks with equal hashes only the last one is
 * remembered.
 */
static void remember_stack(const struct walk *w, u64 hash, known_id leaf)
{
	struct known_stack known = { leaf, TIME_NEVER, w->stack->unloads };
	u64 *index = dict_add(&w->t->stack_of, hash);

	for (known_id node = leaf; node; node = w->t->nodes.at[node].parent) {
		const struct known_node *n = &w->t->nodes.at[node];
		if (!n->is_for_ever && n->named_ns + KNOWN_LASTS_NS < known.until_ns)
			known.until_ns = n->named_ns + KNOWN_LASTS_NS;
	}
	if (!*index) {
		vec_push(&w->t->stacks, known);
		*index = w->t->stacks.nr;
	}
	w->t->stacks.at[*index - 1] = known;
}

void known_stacks_name(struct known_stacks *all, struct known_tree *t,
		       const struct raw_stack *stack, u64 now_ns, known_name_fn name, void *ctx,
		       frame_list *out, struct known_stacks_sum *sum)
{
	const struct walk w = { t, stack, now_ns, name, ctx };
	const u64 hash = stack_hash(stack);
	known_id leaf = find_stack(&w, hash);
	named_raws rest = { 0 };
	size_t left;

	if (leaf) {
		add_known(t, leaf, out, sum);
		return;
	}
	known_id node = find_known(&w, &left);
	name_rest(&w, left, &rest, out, sum);
	size_t end = out->nr;
	add_known(t, node, out, sum);
	leaf = learn(&w, node, &rest, out, end);
	if (leaf)
		remember_stack(&w, hash, leaf);
	vec_fini(&rest);
	limit(all, t);
}

size_t known_stacks_nr_known(const struct known_tree *t, const struct raw_stack *stack, u64 now_ns)
{
	size_t left = stack->nr_kernel + stack->nr_user, nr = 0;

	for (known_id node = 0; left--; nr++) {
		const struct raw_frame raw = raw_at(stack, left);
		node = find_child(t, node, &raw);
		if (!node || !holds(&t->nodes.at[node], now_ns, stack->unloads))
			break;
	}
	return nr;
}

static void tree_free(struct known_tree *t)
{
	empty(t);
	free(t);
}

void known_stacks_forget(struct known_stacks *all, struct process_id id)
{
	u64 key = process_id_hash(id);
	const u64 *slot = dict_find(&all->trees, key);

	if (!slot)
		return;
	all->bytes -= ((struct known_tree *)*slot)->bytes;
	tree_free((void *)*slot);
	dict_remove(&all->trees, key);
	all->last = NULL;
}

size_t known_stacks_nr(const struct known_stacks *all)
{
	size_t nr = 0;

	dict_each(slot, &all->trees)
		nr += ((const struct known_tree *)slot->value)->nodes.nr;
	return nr;
}

void known_stacks_fini(struct known_stacks *all)
{
	dict_each(slot, &all->trees)
		tree_free((void *)slot->value);
	dict_fini(&all->trees);
	*all = (struct known_stacks){ 0 };
}
