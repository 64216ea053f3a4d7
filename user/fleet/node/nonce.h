/* SPDX-License-Identifier: Apache-2.0 */
/* The nonces of requests that a node has seen lately. */
#pragma once

#include "base/vec.h"
#include "fleet/wire/message.h"

#define NONCES_MAX 10000

struct nonce {
	u8 bytes[FLEET_ID_LEN];
	u64 until_ms;
};

struct nonces {
	VEC(struct nonce) all;
};

/*
 * Remembers a nonce until `until_ms`. -EEXIST: it was seen before. -ENOSPC: too many are
 * remembered.
 */
int nonces_add(struct nonces *n, const u8 *nonce, u64 now_ms, u64 until_ms);
void nonces_fini(struct nonces *n);
