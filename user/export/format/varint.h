/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsigned LEB128 as in docs/profile-format.md: 7 bits per byte, lowest first, bit 7 set on all
 * bytes except the last. The maximum is 2^53 - 1, which JavaScript's numbers hold exactly.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"

#define VARINT_MAX ((1ull << 53) - 1)

static inline void varint_add(struct str *out, u64 value)
{
	u8 bytes[10];
	size_t nr = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[nr++] = (u8)value | 0x80;
	bytes[nr++] = (u8)value;
	str_add_bytes(out, bytes, nr);
}

/* Bytes to read from front to back. */
struct cursor {
	const u8 *at, *end;
	bool is_bad; /* a read went past the end or gave more than VARINT_MAX */
};

/* Returns 0 and sets is_bad if there is no valid varint. */
static inline u64 varint_read(struct cursor *c)
{
	u64 value = 0;

	for (unsigned int shift = 0; c->at < c->end && shift < 56; shift += 7) {
		u8 byte = *c->at++;
		value |= (u64)(byte & 0x7f) << shift;
		if (byte < 0x80 && value <= VARINT_MAX)
			return value;
		if (byte < 0x80)
			break;
	}
	c->is_bad = true;
	return 0;
}

/* Returns NULL and sets is_bad if fewer than `len` bytes are left. */
static inline const u8 *bytes_read(struct cursor *c, u64 len)
{
	const u8 *at = c->at;

	if (len > (u64)(c->end - c->at)) {
		c->is_bad = true;
		return NULL;
	}
	c->at += len;
	return at;
}
