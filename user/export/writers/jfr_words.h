/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of a JFR recording, as export/readers/jfr_chunk.c reads them. */
#pragma once

#include <string.h>

#include "base/str.h"

/* Up to eight groups of 7 bits, lowest first. A ninth byte has all 8 bits. */
static inline void jfr_add_number(struct str *out, u64 value)
{
	int nr = 0;

	for (; value >= 0x80 && nr < 8; value >>= 7, nr++)
		str_add_char(out, (char)(value | 0x80));
	str_add_char(out, (char)value);
}

static inline void jfr_add_bytes(struct str *out, u64 value, int nr_bytes)
{
	while (nr_bytes-- > 0)
		str_add_char(out, (char)(value >> (8 * nr_bytes)));
}

static inline void jfr_add_text(struct str *out, const char *text)
{
	const char utf8 = 3;

	str_add_char(out, utf8);
	jfr_add_number(out, strlen(text));
	str_add(out, text);
}

/* Appends an event, whose type is the first number of `body`, behind its size. */
static inline void jfr_add_event(struct str *out, const struct str *body)
{
	size_t nr = 1;

	while ((body->len + nr) >> (7 * nr))
		nr++;
	jfr_add_number(out, body->len + nr);
	str_add_bytes(out, body->at, body->len);
}
