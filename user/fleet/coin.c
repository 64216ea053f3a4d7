/* SPDX-License-Identifier: Apache-2.0 */
/* The coin of a node. */
#include "fleet/coin.h"

#include <string.h>

#include "fleet/key.h"

bool coin_takes(const u8 id[FLEET_ID_LEN], const char *node, u32 share_ppb)
{
	u8 bytes[FLEET_ID_LEN + 64], hash[FLEET_HASH_LEN];
	size_t len = strnlen(node, 64);
	u64 coin = 0;

	memcpy(bytes, id, FLEET_ID_LEN);
	memcpy(bytes + FLEET_ID_LEN, node, len);
	digest(bytes, FLEET_ID_LEN + len, hash);
	for (int i = 0; i < 8; i++)
		coin = coin << 8 | hash[i];
	return (u64)((unsigned __int128)coin * FLEET_PPB >> 64) < share_ppb;
}
