/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text from other processes safe to print. */
#include "base/utf8.h"

#include <string.h>

/* The length of the character at `s` in bytes, or 0 if it is invalid or a control character. */
static size_t char_len(const u8 *s)
{
	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (s[0] >= 0xc2 && s[0] <= 0xdf) /* C2 80..9F are the C1 control characters */
		return (s[1] & 0xc0) == 0x80 && !(s[0] == 0xc2 && s[1] < 0xa0) ? 2 : 0;
	if (s[0] >= 0xe0 && s[0] <= 0xef) {
		u8 low = s[0] == 0xe0 ? 0xa0 : 0x80, high = s[0] == 0xed ? 0x9f : 0xbf;
		return s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 ? 3 : 0;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		u8 low = s[0] == 0xf0 ? 0x90 : 0x80, high = s[0] == 0xf4 ? 0x8f : 0xbf;
		return s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 && (s[3] & 0xc0) == 0x80
			       ? 4
			       : 0;
	}
	return 0;
}

bool utf8_is_clean(const char *text, size_t max)
{
	const u8 *s = (const u8 *)text;

	while (*s) {
		size_t len = char_len(s);
		if (!len)
			return false;
		s += len;
	}
	return (size_t)(s - (const u8 *)text) <= max;
}

void utf8_clean(struct str *out, const char *text, size_t max)
{
	size_t start = out->len;

	str_add_bytes(out, "", 0);
	for (const u8 *s = (const u8 *)text; *s;) {
		size_t len = char_len(s), room = max - (out->len - start);
		const void *bytes = len ? (const void *)s : "\xef\xbf\xbd";
		if ((len ? len : 3) > room)
			return;
		str_add_bytes(out, bytes, len ? len : 3);
		s += len ? len : 1;
	}
}

const char *utf8_cleaned(const char *text, size_t max, struct str *storage)
{
	if (utf8_is_clean(text, max))
		return text;
	utf8_clean(storage, text, max);
	return storage->at;
}
