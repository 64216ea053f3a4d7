/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that a node keeps for each key that asks it: the rate of requests, used nonces, and
 * refusals that were already listed.
 */
#pragma once

#include "base/vec.h"
#include "fleet/wire/message.h"

#define ASKER_BURST  60 /* requests at once; afterwards one a second */
#define ASKER_LIST_S 60 /* between two entries of the audit list on the same kind of refusal */

struct nonce {
	u8 bytes[FLEET_ID_LEN];
	u64 until_ms;
};

/* The CPU use that this node reported in a census, by the seed of that census. */
struct promise {
	u8 seed[FLEET_ID_LEN];
	u64 busy_ppm;
};

#define PROMISES 16 /* censuses whose requests may still come */

struct refusals {
	u64 listed_ns; /* the last entry; 0: there was none */
	u32 nr;        /* since then */
};

/* Zero: a key that has not asked. Times are monotonic, but for those of nonces. */
struct asker {
	u8 key[FLEET_KEY_LEN];
	u64 rested_ns; /* when the key may send ASKER_BURST requests at once again */
	VEC(struct nonce) nonces;
	struct refusals refusals[NR_VERDICTS];
	struct promise promises[PROMISES];
	u32 nr_promises; /* in all; the oldest gives way */
};

/* Whether the key may ask now. */
bool asker_may(const struct asker *a, u64 now_ns);

/* Counts a request. Nonces and entries of a key are bounded by the number of its requests. */
void asker_count(struct asker *a, u64 now_ns);

/* Remembers a nonce until `until_ms`. -EEXIST: it was seen before. */
int asker_add_nonce(struct asker *a, const u8 *nonce, u64 now_ms, u64 until_ms);

/* Returns true if the refusal has to be listed in the audit list. Otherwise counts it. */
bool asker_lists(struct asker *a, enum verdict v, u64 now_ns);

/*
 * Returns the number of refusals that are counted but not listed yet, and resets it: the caller
 * lists them.
 */
u32 asker_take_unlisted(struct asker *a, enum verdict v, u64 now_ns);

void asker_fini(struct asker *a);

struct askers {
	VEC(struct asker *) all;
};

/* Adds the key if it is new. NULL: strangers, who sign nothing that is new. */
struct asker *askers_find(struct askers *all, const u8 *key);
void askers_fini(struct askers *all);
