/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from u64 keys to u64 values with open addressing and without an allocation per
 * entry. The profiler's hot tables use it (address -> frame, parent and frame -> node). {0} is a
 * valid empty table. Keys may be chosen by an attacker: which keys collide, and the order of
 * dict_each, differ from run to run. Tables keyed by structs or strings use uthash.
 */
#pragma once

#include "base/types.h"

struct dict {
	/* `cap` of them, of which those with key 0 are free, and one more, which is key 0's */
	struct dict_slot *slots;
	size_t nr, cap; /* cap is 0 or a power of two */
	bool has_zero;  /* key 0 is in the table */
};

struct dict_slot {
	u64 key, value;
};

/*
 * The place of the key's value, or NULL if the key is missing. Valid until the next dict_add or
 * dict_remove.
 */
u64 *dict_find(const struct dict *d, u64 key);

/*
 * The place of the key's value. Adds a missing key with value 0. Valid until the next dict_add or
 * dict_remove.
 */
u64 *dict_add(struct dict *d, u64 key);

/* Returns whether the table held the key. */
bool dict_remove(struct dict *d, u64 key);
void dict_fini(struct dict *d);

/* The memory that the table takes. */
size_t dict_bytes(const struct dict *d);

static inline bool dict_is_used(const struct dict *d, const struct dict_slot *slot)
{
	return slot->key || (d->has_zero && slot == &d->slots[d->cap]);
}

/* Visits the used slots in no particular order. The table must not change during the visit. */
#define dict_each(slot, d)                                                                       \
	for (struct dict_slot *slot = (d)->slots; slot && slot <= (d)->slots + (d)->cap; slot++) \
		if (dict_is_used(d, slot))

/* A hash that differs from run to run, so an attacker cannot choose texts that collide. */
u64 hash_keyed(const void *bytes, size_t len);

/* Mixes a key so that all its bits count. It also joins two keys: hash_u64(a ^ hash_u64(b)). */
u64 hash_u64(u64 key);

/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed 64-bit hash. Without the key nobody can forge
 * a hash or find two inputs with the same hash.
 */
#define SIPHASH_KEY_LEN 16
u64 siphash(const u8 key[SIPHASH_KEY_LEN], const void *bytes, size_t len);

/*
 * A dict whose entries age: one that is not used between two calls of aged_turn is dropped. For
 * caches whose content can be found again. {0} is a valid empty table.
 */
struct aged {
	struct dict young, old; /* used since the last turn; used in the turn before */
};

/* Like dict_find and dict_add; both count as a use. */
u64 *aged_find(struct aged *a, u64 key);
u64 *aged_add(struct aged *a, u64 key);

/* Drops the entries that were not used since the previous call. */
void aged_turn(struct aged *a);
void aged_fini(struct aged *a);

size_t aged_nr(const struct aged *a);
size_t aged_bytes(const struct aged *a);

/* Calls `visit` for every value, in no particular order. */
typedef void (*aged_fn)(u64 value, void *ctx);
void aged_each(const struct aged *a, aged_fn visit, void *ctx);

/* The memory that a cache uses, for gauges. */
struct cache_use {
	const char *name; /* of lower-case letters and '_' */
	u64 nr;           /* entries */
	u64 bytes;
	u64 budget_bytes; /* limit: the cache drops entries to stay below it */
};

typedef void (*cache_use_fn)(const struct cache_use *use, void *ctx);
