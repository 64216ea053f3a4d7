/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from u64 keys to u64 values, open addressing, no per-entry allocation:
 * the hot tables of the profiler (address -> frame, parent and frame -> node). {0} is a valid
 * empty table. Keys may be a stranger's choice: which of them collide differs from run to run, and
 * so does the order of dict_each. Tables keyed by structs or strings use uthash.
 */
#pragma once

#include "base/types.h"

struct dict {
	struct dict_slot *slots;
	size_t nr, cap; /* cap is 0 or a power of two */
};

struct dict_slot {
	u64 key, value;
	bool used;
};

/* The value's place, NULL if the key is not there; valid until the next dict_add or dict_remove. */
u64 *dict_find(const struct dict *d, u64 key);

/* The value's place, made with value 0 if the key is new; valid like that of dict_find. */
u64 *dict_add(struct dict *d, u64 key);

/* Returns whether the key was there. */
bool dict_remove(struct dict *d, u64 key);
void dict_fini(struct dict *d);

/* Visits the used slots in no particular order; the table must not change meanwhile. */
#define dict_each(slot, d)                                                                      \
	for (struct dict_slot *slot = (d)->slots; slot && slot < (d)->slots + (d)->cap; slot++) \
		if (slot->used)

/* A hash that differs from run to run: nobody can choose texts that share it. */
u64 hash_keyed(const void *bytes, size_t len);

/* Mixes a key so that all its bits count; also joins two keys: hash_u64(a ^ hash_u64(b)). */
u64 hash_u64(u64 key);
