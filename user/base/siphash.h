/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed 64-bit hash. Without the key nobody can forge
 * a hash or find two inputs with the same hash.
 */
#pragma once

#include "base/types.h"

#define SIPHASH_KEY_LEN 16

u64 siphash(const u8 key[SIPHASH_KEY_LEN], const void *bytes, size_t len);
