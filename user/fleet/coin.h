/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses nodes without a list of them: each decides for itself, always in the same way. The coin
 * of a node is the first 64 bits of SHA-256(seed of the request, name of the node), as a fraction.
 */
#pragma once

#include "fleet/message.h"

/* The coin in 1e-9, below 1e9. `seed` is the field `coin` of the request. */
u32 coin_of(const u8 seed[FLEET_ID_LEN], const char *node);

/* Whether the coin lies in [from_ppb, share_ppb) of the request. */
bool coin_takes(const struct fleet_request *r, const char *node);
