/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes bytes as text. */
#include "export/format/base91.h"

#include <string.h>

#define NR_DIGITS  91
#define PAIR_BITS  13 /* 2^13 < 91 * 91 */
#define DIGIT_BITS 6  /* bits of a digit without a partner, at the end */

/* All printable ASCII except characters that end an element, a string or a line. */
static const char digits[NR_DIGITS + 1] =
	"!#$%&'()*+,-./"
	"0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~";

void base91_write(const struct str *bytes, FILE *out)
{
	char text[4096];
	size_t nr = 0;
	u32 bits = 0;
	int nr_bits = 0;

	for (size_t i = 0; i < bytes->len; i++) {
		bits |= (u32)(u8)bytes->at[i] << nr_bits;
		nr_bits += 8;
		if (nr_bits < PAIR_BITS)
			continue;
		u32 pair = bits & ((1 << PAIR_BITS) - 1);
		bits >>= PAIR_BITS;
		nr_bits -= PAIR_BITS;
		text[nr++] = digits[pair % NR_DIGITS];
		text[nr++] = digits[pair / NR_DIGITS];
		if (nr == sizeof(text)) {
			fwrite(text, 1, nr, out);
			nr = 0;
		}
	}
	if (nr_bits)
		text[nr++] = digits[bits % NR_DIGITS];
	if (nr_bits > DIGIT_BITS)
		text[nr++] = digits[bits / NR_DIGITS];
	fwrite(text, 1, nr, out);
}

static void add_bits(struct str *out, u32 *bits, int *nr_bits, u32 more, int nr_more)
{
	*bits |= more << *nr_bits;
	*nr_bits += nr_more;
	while (*nr_bits >= 8) {
		str_add_char(out, (char)*bits);
		*bits >>= 8;
		*nr_bits -= 8;
	}
}

void base91_read(const char *text, size_t len, struct str *out)
{
	u8 value_of[256];
	u32 bits = 0, first = 0;
	int nr_bits = 0;
	bool has_first = false;

	memset(value_of, 255, sizeof(value_of));
	for (int i = 0; i < NR_DIGITS; i++)
		value_of[(u8)digits[i]] = (u8)i;
	for (size_t i = 0; i < len; i++) {
		u8 value = value_of[(u8)text[i]];
		if (value == 255 && text[i] && strchr(" \t\r\n\f", text[i]))
			continue;
		if (value == 255)
			break;
		if (has_first)
			add_bits(out, &bits, &nr_bits,
				 (first + value * NR_DIGITS) & ((1 << PAIR_BITS) - 1), PAIR_BITS);
		first = value;
		has_first = !has_first;
	}
	if (has_first)
		add_bits(out, &bits, &nr_bits, first & ((1 << DIGIT_BITS) - 1), DIGIT_BITS);
}
