/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dict whose entries age: one that is not used between two calls of aged_turn is dropped. For
 * caches whose content can be found again. {0} is a valid empty table.
 */
#pragma once

#include "base/dict.h"

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
