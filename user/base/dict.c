/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from u64 keys to u64 values, a table whose entries age, and keyed hashes. */
#include "base/dict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"

static inline u64 rotate(u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void mix(u64 v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static inline void take_word(u64 v[4], u64 word)
{
	v[3] ^= word;
	mix(v);
	mix(v);
	v[0] ^= word;
}

u64 siphash(const u8 key[SIPHASH_KEY_LEN], const void *bytes, size_t len)
{
	const u8 *at = bytes, *whole = at + len / 8 * 8;
	u64 k[2], word, last = (u64)len << 56;

	memcpy(k, key, sizeof(k));
	u64 v[4] = { k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d,
		     k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573 };
	for (; at < whole; at += 8) {
		memcpy(&word, at, sizeof(word));
		take_word(v, word);
	}
	for (size_t i = 0; i < len % 8; i++)
		last |= (u64)at[i] << (8 * i);
	take_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/*
 * A per-process secret. Keys also come from targets. A target that knew how slots are chosen could
 * compute any number of keys that share a slot.
 */
struct secret {
	u8 siphash[SIPHASH_KEY_LEN];
	u64 mask, factor; /* factor is odd, therefore distinct keys stay distinct */
};

static struct secret secret; /* cache: drawn once per process */

/*
 * Derives the secret from the 16 random bytes that the kernel gives each program (getauxval(3)).
 * This works in any sandbox.
 */
static void draw_secret(void)
{
	if (secret.factor)
		return;
	memcpy(secret.siphash, (const void *)getauxval(AT_RANDOM), sizeof(secret.siphash));
	secret.mask = siphash(secret.siphash, "mask", 4);
	secret.factor = siphash(secret.siphash, "factor", 6) | 1;
}

/* The finalizer of splitmix64: every input bit changes half of the output bits. */
u64 hash_u64(u64 key)
{
	key ^= key >> 30;
	key *= 0xbf58476d1ce4e5b9ull;
	key ^= key >> 27;
	key *= 0x94d049bb133111ebull;
	return key ^ key >> 31;
}

u64 hash_keyed(const void *bytes, size_t len)
{
	draw_secret();
	return siphash(secret.siphash, bytes, len);
}

/* The slot at which the search for a key begins. */
static size_t home_of(const struct dict *d, u64 key)
{
	return hash_u64((key ^ secret.mask) * secret.factor) & (d->cap - 1);
}

/* The slot that holds the key, or else the free slot where the key belongs. */
static struct dict_slot *slot_of(const struct dict *d, u64 key)
{
	size_t i = home_of(d, key);

	if (!key)
		return &d->slots[d->cap];
	while (d->slots[i].key && d->slots[i].key != key)
		i = (i + 1) & (d->cap - 1);
	return &d->slots[i];
}

u64 *dict_find(const struct dict *d, u64 key)
{
	if (!d->cap)
		return NULL;

	struct dict_slot *slot = slot_of(d, key);
	return dict_is_used(d, slot) ? &slot->value : NULL;
}

static void grow(struct dict *d)
{
	struct dict old = *d;

	draw_secret();
	d->cap = old.cap ? old.cap * 2 : 16;
	d->slots = xcalloc(d->cap + 1, sizeof(d->slots[0]));
	dict_each(slot, &old)
		*slot_of(d, slot->key) = *slot;
	free(old.slots);
}

u64 *dict_add(struct dict *d, u64 key)
{
	if (d->nr * 4 >= d->cap * 3)
		grow(d);

	struct dict_slot *slot = slot_of(d, key);
	if (!dict_is_used(d, slot)) {
		*slot = (struct dict_slot){ .key = key };
		d->has_zero |= !key;
		d->nr++;
	}
	return &slot->value;
}

/* Closes the gap: moves back every later slot of the run that may move (Knuth 6.4, algorithm R). */
static void free_slot(struct dict *d, size_t gap)
{
	size_t mask = d->cap - 1;

	for (size_t i = (gap + 1) & mask; d->slots[i].key; i = (i + 1) & mask) {
		size_t home = home_of(d, d->slots[i].key);
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			d->slots[gap] = d->slots[i];
			gap = i;
		}
	}
	d->slots[gap].key = 0;
}

bool dict_remove(struct dict *d, u64 key)
{
	if (!dict_find(d, key))
		return false;

	if (key)
		free_slot(d, (size_t)(slot_of(d, key) - d->slots));
	else
		d->has_zero = false;
	d->nr--;
	return true;
}

void dict_fini(struct dict *d)
{
	free(d->slots);
	*d = (struct dict){ 0 };
}

size_t dict_bytes(const struct dict *d)
{
	return d->cap ? (d->cap + 1) * sizeof(d->slots[0]) : 0;
}

u64 *aged_find(struct aged *a, u64 key)
{
	u64 *value = dict_find(&a->young, key);
	const u64 *old = value ? NULL : dict_find(&a->old, key);

	if (!old)
		return value;
	value = dict_add(&a->young, key);
	*value = *old;
	dict_remove(&a->old, key);
	return value;
}

u64 *aged_add(struct aged *a, u64 key)
{
	return aged_find(a, key) ?: dict_add(&a->young, key);
}

void aged_turn(struct aged *a)
{
	dict_fini(&a->old);
	a->old = a->young;
	a->young = (struct dict){ 0 };
}

void aged_fini(struct aged *a)
{
	dict_fini(&a->young);
	dict_fini(&a->old);
}

size_t aged_nr(const struct aged *a)
{
	return a->young.nr + a->old.nr;
}

size_t aged_bytes(const struct aged *a)
{
	return dict_bytes(&a->young) + dict_bytes(&a->old);
}

void aged_each(const struct aged *a, aged_fn visit, void *ctx)
{
	dict_each(slot, &a->young)
		visit(slot->value, ctx);
	dict_each(slot, &a->old)
		visit(slot->value, ctx);
}
