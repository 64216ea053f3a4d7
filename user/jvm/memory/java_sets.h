/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elements of Sets that ConcurrentHashMap.newKeySet made, read by slots of their tables.
 * Private to user/jvm.
 *
 *	KeySetView.map -> ConcurrentHashMap.table -> [ slot, slot, .. ]
 *	                                               '-> Node{hash, key, next} -> Node -> ..
 *
 * A negative hash marks other nodes: of a bin that was moved while the table grows (nextTable has
 * it), and of a bin that is a tree (first is its list). Everything is bounded, because the process
 * may forge the table.
 */
#pragma once

#include "jvm/memory/java_objects.h"

/* Offsets of fields. */
struct set_fields {
	u32 map;                            /* ConcurrentHashMap$CollectionView */
	u32 table;                          /* ConcurrentHashMap */
	u32 node_hash, node_key, node_next; /* ConcurrentHashMap$Node */
	u32 tree_first; /* ConcurrentHashMap$TreeBin; 0: that class is not loaded */
	u32 next_table; /* ConcurrentHashMap$ForwardingNode; 0: the same */
};

struct java_table {
	u64 at; /* of the array; 0: there is none */
	u32 length;
};

/* A slot to be read, and an element that was found in it. */
struct set_slot {
	u64 table;
	u32 index, length; /* length: of the table */
	u32 owner;         /* the caller's number for the set */
};

struct set_key {
	u64 object;
	u32 owner;
};

typedef VEC(struct set_key) set_key_list;

/*
 * Reads the same number of bytes at each address; what cannot be read is zeroed. Returns 0 or
 * -ESRCH.
 */
int java_read_each(struct mem *m, const u64 *addrs, size_t nr, void *out, u32 bytes);

/* Replaces each address (0: none) by that of the object in its field at `off`; 0 or -ESRCH. */
int java_follow(const struct vm_memory *j, const struct java_objects *o, u64 *addrs, size_t nr,
		u32 off);

/* Finds the tables of the sets at these addresses (0: none). Returns 0 or -ESRCH. */
int java_set_tables(const struct vm_memory *j, const struct java_objects *o,
		    const struct set_fields *f, const u64 *sets, size_t nr, struct java_table *out);

/*
 * Appends the elements of these slots. Returns 0 or -ESRCH. *nr_left_out grows by the number of
 * nodes that were not followed.
 */
int java_slots_read(const struct vm_memory *j, const struct java_objects *o,
		    const struct set_fields *f, const struct set_slot *slots, size_t nr,
		    set_key_list *out, u64 *nr_left_out);
