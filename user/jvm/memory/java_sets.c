/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of Sets that ConcurrentHashMap.newKeySet made. Part of jvm/memory/java_objects.h. */
#include "jvm/memory/java_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

#define LENGTH_MAX (1u << 30) /* ConcurrentHashMap.MAXIMUM_CAPACITY */
#define NODE_BYTES 96         /* of a node of any kind, up to its last field */
#define HASH_MOVED (-1)       /* ConcurrentHashMap.MOVED, TREEBIN */
#define HASH_TREE  (-2)
#define STEPS_MAX  64 /* nodes of a bin; longer ones are trees, unless their hashes are equal */
#define NODES_EACH 8  /* nodes of all bins, for each slot; a full table has one or two */

int java_set_tables(const struct vm_memory *j, const struct java_objects *o,
		    const struct set_fields *f, const u64 *sets, size_t nr, struct java_table *out)
{
	auto_free u64 *at = xmemdup(sets, nr * sizeof(*at) + !nr);
	auto_free u64 *lengths_at = xcalloc(nr + 1, sizeof(*lengths_at));
	auto_free u32 *lengths = xcalloc(nr + 1, sizeof(*lengths));
	int err = java_follow(j, o, at, nr, f->map);

	err = err ?: java_follow(j, o, at, nr, f->table);
	for (size_t i = 0; i < nr; i++)
		lengths_at[i] = at[i] ? at[i] + o->array_length : 0;
	err = err ?: java_read_each(j->mem, lengths_at, nr, lengths, sizeof(u32));
	for (size_t i = 0; i < nr; i++) {
		bool is_table =
			lengths[i] && lengths[i] <= LENGTH_MAX && !(lengths[i] & (lengths[i] - 1));
		out[i] = is_table ? (struct java_table){ at[i], lengths[i] }
				  : (struct java_table){ 0 };
	}
	return err;
}

/* A node to be read. */
struct node {
	u64 at;
	struct set_slot slot; /* length 0: it needs no next table */
};

typedef VEC(struct node) node_list;

/* Appends the first node of each slot that is not empty. */
static int read_heads(const struct vm_memory *j, const struct java_objects *o,
		      const struct set_slot *slots, size_t nr, node_list *out)
{
	auto_free u64 *at = xcalloc(nr + 1, sizeof(*at));

	for (size_t i = 0; i < nr; i++)
		at[i] = slots[i].table + o->array_references;
	for (size_t i = 0; i < nr; i++)
		at[i] += (u64)slots[i].index * o->reference_bytes;
	int err = java_follow(j, o, at, nr, 0);
	for (size_t i = 0; !err && i < nr; i++)
		if (at[i])
			vec_push(out, (struct node){ at[i], slots[i] });
	return err;
}

/* The bin was moved to two of the next table, which is twice as long. */
static int read_moved(const struct vm_memory *j, const struct java_objects *o, const struct node *n,
		      u64 next, node_list *out)
{
	struct set_slot both[2] = { n->slot, n->slot };

	both[0].table = both[1].table = next;
	both[1].index += n->slot.length;
	both[0].length = both[1].length = 0; /* not followed to a table after that */
	return next && n->slot.length ? read_heads(j, o, both, 2, out) : 0;
}

struct reading {
	const struct vm_memory *j;
	const struct java_objects *o;
	const struct set_fields *f;
	set_key_list *keys;
};

static int take_node(struct reading *r, const struct node *n, const u8 *bytes, node_list *more)
{
	const struct set_fields *f = r->f;
	s32 hash = (s32)java_part(bytes, NODE_BYTES, f->node_hash, 4);
	u64 next = java_part_reference(r->o, bytes, NODE_BYTES, f->node_next);

	if (hash == HASH_MOVED)
		return f->next_table ? read_moved(r->j, r->o, n,
						  java_part_reference(r->o, bytes, NODE_BYTES,
								      f->next_table),
						  more)
				     : 0;
	if (hash == HASH_TREE)
		next = f->tree_first ? java_part_reference(r->o, bytes, NODE_BYTES, f->tree_first)
				     : 0;
	else if (hash >= 0)
		vec_push(r->keys, (struct set_key){
					  java_part_reference(r->o, bytes, NODE_BYTES, f->node_key),
					  n->slot.owner });
	if (next && hash != HASH_MOVED && (hash >= 0 || hash == HASH_TREE)) {
		struct node child = { next, n->slot };
		child.slot.length = 0;
		vec_push(more, child);
	}
	return 0;
}

int java_slots_read(const struct vm_memory *j, const struct java_objects *o,
		    const struct set_fields *f, const struct set_slot *slots, size_t nr,
		    set_key_list *out, u64 *nr_left_out)
{
	struct reading r = { j, o, f, out };
	node_list nodes = { 0 }, more = { 0 };
	size_t left = NODES_EACH * nr + STEPS_MAX;
	int err = read_heads(j, o, slots, nr, &nodes);

	for (u32 step = 0; !err && nodes.nr && nodes.nr <= left && step < STEPS_MAX; step++) {
		auto_free u64 *at = xcalloc(nodes.nr, sizeof(*at));
		auto_free u8 *bytes = xcalloc(nodes.nr, NODE_BYTES);

		for (size_t i = 0; i < nodes.nr; i++)
			at[i] = nodes.at[i].at;
		err = java_read_each(j->mem, at, nodes.nr, bytes, NODE_BYTES);
		left -= nodes.nr;
		more.nr = 0;
		for (size_t i = 0; !err && i < nodes.nr; i++)
			err = take_node(&r, &nodes.at[i], bytes + i * NODE_BYTES, &more);
		node_list taken = nodes;
		nodes = more;
		more = taken;
	}
	*nr_left_out += nodes.nr;
	vec_fini(&nodes);
	vec_fini(&more);
	return err;
}

struct slot_choice slots_choose(u64 total, u32 most)
{
	struct slot_choice c = { .nr = total < most ? (u32)total : most };

	c.stride = c.nr ? (double)total / c.nr : 1;
	c.first = drand48() * c.stride;
	return c;
}

u64 slots_chosen(const struct slot_choice *c, u32 i)
{
	return (u64)(c->first + i * c->stride);
}

double set_keys_thin(set_key_list *keys, u32 most)
{
	struct slot_choice c = slots_choose(keys->nr, most);

	if (keys->nr <= most)
		return 1;
	for (u32 i = 0; i < c.nr; i++)
		keys->at[i] = keys->at[slots_chosen(&c, i)];
	keys->nr = c.nr;
	return c.stride;
}
