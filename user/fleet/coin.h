/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses nodes without a list of them: each decides for itself, always in the same way. The coin
 * of a node is the first 64 bits of SHA-256(id of the request, name of the node), as a fraction.
 */
#pragma once

#include "fleet/message.h"

/* Whether the coin is below `share_ppb` / 1e9. */
bool coin_takes(const u8 id[FLEET_ID_LEN], const char *node, u32 share_ppb);
