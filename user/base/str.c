/* SPDX-License-Identifier: Apache-2.0 */
/* A growable byte string. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
