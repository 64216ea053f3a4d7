/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads DWARF's little-endian numbers, and pointers of .eh_frame, from untrusted bytes. Past the
 * end every read gives 0 and sets `is_bad`. A parser therefore checks `is_bad` only once for a
 * whole structure.
 */
#pragma once

#include <string.h>

#include "base/types.h"

struct cursor {
	const u8 *at, *end;
	bool is_bad;
};

/* Skips `len` bytes and returns their start; NULL if fewer are left. */
static inline const u8 *cursor_skip(struct cursor *c, u64 len)
{
	if (len > (u64)(c->end - c->at)) {
		c->at = c->end;
		c->is_bad = true;
		return NULL;
	}
	const u8 *bytes = c->at;
	c->at += len;
	return bytes;
}

/* Reads an unsigned number of `len` <= 8 bytes. */
static inline u64 cursor_uint(struct cursor *c, size_t len)
{
	u64 value = 0;
	const u8 *bytes = cursor_skip(c, len);
	if (bytes)
		memcpy(&value, bytes, len);
	return value;
}

static inline u8 cursor_u8(struct cursor *c)
{
	if (c->at == c->end) {
		c->is_bad = true;
		return 0;
	}
	return *c->at++;
}

/* Reads a LEB128 number; drops bits beyond the 64th. */
static inline u64 cursor_uleb(struct cursor *c)
{
	u64 value = 0;
	for (unsigned shift = 0;; shift += 7) {
		u8 byte = cursor_u8(c);
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline s64 cursor_sleb(struct cursor *c)
{
	u64 value = 0;
	for (unsigned shift = 0;;) {
		u8 byte = cursor_u8(c);
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && byte & 0x40)
			value |= ~0ull << shift;
		return (s64)value;
	}
}

/* Pointers of .eh_frame; DW_EH_PE_* of LSB Core, "DWARF Exception Header Encoding". */
#define POINTER_ABSOLUTE    0x00
#define POINTER_PC_RELATIVE 0x10 /* a bit */
#define POINTER_OMITTED     0xff

/*
 * Reads a pointer that lies at `at_vaddr`. Returns false if it is cut off or neither absolute nor
 * pc-relative.
 */
bool pointer_read(struct cursor *c, u8 encoding, u64 at_vaddr, u64 *out);

/* Reads a number in the format of a pointer, such as the length behind it. */
bool pointer_read_number(struct cursor *c, u8 encoding, u64 *out);

/* Skips a pointer. Returns false if its length is unknown. */
bool pointer_skip(struct cursor *c, u8 encoding);
