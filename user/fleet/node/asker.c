/* SPDX-License-Identifier: Apache-2.0 */
/* State that a node keeps for each key that asks it. */
#include "fleet/node/asker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"

#define LIST_NS (ASKER_LIST_S * NS_PER_SEC)

bool asker_may(const struct asker *a, u64 now_ns)
{
	return a->rested_ns <= now_ns + (ASKER_BURST - 1) * NS_PER_SEC;
}

void asker_count(struct asker *a, u64 now_ns)
{
	a->rested_ns = (a->rested_ns > now_ns ? a->rested_ns : now_ns) + NS_PER_SEC;
}

static void forget_old(struct asker *a, u64 now_ms)
{
	size_t nr = 0;

	vec_each(n, &a->nonces)
		if (n->until_ms > now_ms)
			a->nonces.at[nr++] = *n;
	a->nonces.nr = nr;
}

int asker_add_nonce(struct asker *a, const u8 *nonce, u64 now_ms, u64 until_ms)
{
	struct nonce new = { .until_ms = until_ms };

	forget_old(a, now_ms);
	vec_each(old, &a->nonces)
		if (!memcmp(old->bytes, nonce, sizeof(old->bytes)))
			return -EEXIST;
	memcpy(new.bytes, nonce, sizeof(new.bytes));
	vec_push(&a->nonces, new);
	return 0;
}

bool asker_lists(struct asker *a, enum verdict v, u64 now_ns)
{
	struct refusals *r = &a->refusals[v];

	if (r->nr || (r->listed_ns && now_ns - r->listed_ns < LIST_NS)) {
		r->nr++;
		return false;
	}
	r->listed_ns = now_ns;
	return true;
}

u32 asker_take_unlisted(struct asker *a, enum verdict v, u64 now_ns)
{
	struct refusals *r = &a->refusals[v];
	u32 nr = r->nr;

	if (!nr || now_ns - r->listed_ns < LIST_NS)
		return 0;
	*r = (struct refusals){ .listed_ns = now_ns };
	return nr;
}

void asker_fini(struct asker *a)
{
	vec_fini(&a->nonces);
}

struct asker *askers_find(struct askers *all, const u8 *key)
{
	static const u8 strangers[FLEET_KEY_LEN];
	struct asker *new;

	key = key ?: strangers;
	vec_each(a, &all->all)
		if (!memcmp((*a)->key, key, FLEET_KEY_LEN))
			return *a;
	new = xcalloc(1, sizeof(*new));
	memcpy(new->key, key, FLEET_KEY_LEN);
	vec_push(&all->all, new);
	return new;
}

void askers_fini(struct askers *all)
{
	vec_each(a, &all->all) {
		asker_fini(*a);
		free(*a);
	}
	vec_fini(&all->all);
}
