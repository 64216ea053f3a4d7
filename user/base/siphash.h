/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a 64-bit seal of bytes that nobody can forge, or find
 * two of the same of, who does not know the key.
 */
#pragma once

#include "base/types.h"

#define SIPHASH_KEY_LEN 16

u64 siphash(const u8 key[SIPHASH_KEY_LEN], const void *bytes, size_t len);
