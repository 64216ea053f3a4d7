/* SPDX-License-Identifier: Apache-2.0 */
/* Text: a growable byte string, text from other processes made safe to print, wrapping at words. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"

static void reserve(struct str *s, size_t more)
{
	size_t need = s->len + more + 1;

	if (need <= s->cap)
		return;
	s->cap = need < 2 * s->cap ? 2 * s->cap : need;
	if (s->cap < 32)
		s->cap = 32;
	s->at = xreallocarray(s->at, s->cap, 1);
}

void str_add_bytes(struct str *s, const void *bytes, size_t len)
{
	reserve(s, len);
	if (len)
		memcpy(s->at + s->len, bytes, len);
	s->len += len;
	s->at[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_add_bytes(s, text, strlen(text));
}

void str_add_char(struct str *s, char c)
{
	str_add_bytes(s, &c, 1);
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return;

	reserve(s, (size_t)len);
	va_start(args, fmt);
	vsnprintf(s->at + s->len, (size_t)len + 1, fmt, args);
	va_end(args);
	s->len += (size_t)len;
}

void str_clear(struct str *s)
{
	reserve(s, 0);
	s->len = 0;
	s->at[0] = '\0';
}

char *str_take(struct str *s)
{
	reserve(s, 0);
	char *bytes = s->at;
	bytes[s->len] = '\0';
	*s = (struct str){ 0 };
	return bytes;
}

void str_fini(struct str *s)
{
	free(s->at);
	*s = (struct str){ 0 };
}

void copy_text(char *field, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);

	memcpy(field, text, len);
	field[len] = '\0';
}

void address_add(struct str *address, const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

	for (; *text; text++)
		if (strchr(plain, *text))
			str_add_char(address, *text);
		else
			str_addf(address, "%%%02X", (u8)*text);
}

#define HANGING_LEAST 2
#define HANGING_MAX   40 /* a wider column leaves no room for words */

size_t wrap_columns(int fd)
{
	struct winsize size;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col
									  : WRAP_COLUMNS;
}

/* The columns of UTF-8: continuation bytes have none. */
static size_t width_of(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += (text[i] & 0xc0) != 0x80;
	return width;
}

void wrap_add(struct str *out, const char *text, size_t at, size_t indent, size_t columns)
{
	bool has_word = at > indent; /* a break before the first word of a line gains nothing */

	str_add(out, "");
	while (*text) {
		size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " ");
		size_t width = width_of(text + blanks, len);
		if (has_word && blanks && len && at + blanks + width > columns) {
			str_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			str_add_bytes(out, text, blanks);
			at += blanks;
		}
		str_add_bytes(out, text + blanks, len);
		at += width;
		has_word |= len > 0;
		text += blanks + len;
	}
}

size_t wrap_hanging(const char *text)
{
	const char *gap = strstr(text, "  ");
	size_t at = gap ? (size_t)(gap - text) + strspn(gap, " ") : 0;

	return at && text[at] && at <= HANGING_MAX ? at : HANGING_LEAST;
}

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
