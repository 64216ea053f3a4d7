/* SPDX-License-Identifier: Apache-2.0 */
/* The coin of a node. */
#include "fleet/coin.h"

#include <string.h>

#include "fleet/key.h"

u32 coin_of(const u8 seed[FLEET_ID_LEN], const char *node)
{
	u8 bytes[FLEET_ID_LEN + 64], hash[FLEET_HASH_LEN];
	size_t len = strnlen(node, 64);
	u64 coin = 0;

	memcpy(bytes, seed, FLEET_ID_LEN);
	memcpy(bytes + FLEET_ID_LEN, node, len);
	digest(bytes, FLEET_ID_LEN + len, hash);
	for (int i = 0; i < 8; i++)
		coin = coin << 8 | hash[i];
	return (u32)((unsigned __int128)coin * FLEET_PPB >> 64);
}

bool coin_takes(const struct fleet_request *r, const char *node)
{
	u32 coin = coin_of(r->coin, node);

	return coin >= r->from_ppb && coin < r->share_ppb;
}
