/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4. */
#include "base/siphash.h"

#include <string.h>

static inline u64 rotate(u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void mix(u64 v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static inline void take_word(u64 v[4], u64 word)
{
	v[3] ^= word;
	mix(v);
	mix(v);
	v[0] ^= word;
}

u64 siphash(const u8 key[SIPHASH_KEY_LEN], const void *bytes, size_t len)
{
	const u8 *at = bytes, *whole = at + len / 8 * 8;
	u64 k[2], word, last = (u64)len << 56;

	memcpy(k, key, sizeof(k));
	u64 v[4] = { k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d,
		     k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573 };
	for (; at < whole; at += 8) {
		memcpy(&word, at, sizeof(word));
		take_word(v, word);
	}
	for (size_t i = 0; i < len % 8; i++)
		last |= (u64)at[i] << (8 * i);
	take_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
