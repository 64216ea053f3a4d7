/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a JFR recording: up to eight groups of 7 bits, lowest first; a ninth byte has all
 * 8 bits. Most of a recording are such numbers. Private to jfr_chunk.c.
 */
#pragma once

#include <endian.h>
#include <string.h>

#include "export/format/varint.h"

#define TOP_BITS 0x8080808080808080ull

/* The next eight bytes, of which the ninth may be read, too. Returns false near the end. */
static inline bool word_read(const struct cursor *c, u64 *word)
{
	if (c->end - c->at < 9)
		return false;
	memcpy(word, c->at, sizeof(*word));
	*word = le64toh(*word);
	return true;
}

/* The bytes of the number that begins with these eight: the last one has no top bit, or is the
 * ninth. */
static inline unsigned int number_len(u64 word)
{
	u64 last = ~word & TOP_BITS;

	return last ? (unsigned int)__builtin_ctzll(last) / 8 + 1 : 9;
}

/* Joins the groups of 7 bits in the first `len` bytes of a word. */
static inline u64 join_groups(u64 word, unsigned int len)
{
	word &= ~TOP_BITS >> (64 - 8 * len);
	word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
	word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
	return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

/* Returns 0 and sets is_bad if the number is cut off. */
static inline u64 number_read(struct cursor *c)
{
	u64 value = 0, word;

	if (word_read(c, &word)) {
		unsigned int len = number_len(word);
		value = join_groups(word, len < 8 ? len : 8);
		if (len == 9)
			value |= (u64)c->at[8] << 56;
		c->at += len;
		return value;
	}
	for (int shift = 0; c->at < c->end; shift += 7) {
		u8 byte = *c->at++;
		value |= (u64)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	c->is_bad = true;
	return 0;
}

static inline void numbers_skip(struct cursor *c, u64 nr)
{
	u64 word;

	for (; nr && word_read(c, &word); nr--)
		c->at += number_len(word);
	for (; nr && !c->is_bad; nr--)
		number_read(c);
}
