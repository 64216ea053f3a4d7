/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of other tools as one text. */
#include "export/interchange/tags.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"

#define PART_MAX_BYTES 256

static void add_escaped(struct str *out, const char *text, const char *special)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, text, PART_MAX_BYTES);
	for (const char *c = clean.at; *c; c++)
		if (*c == '%' || strchr(special, *c))
			str_addf(out, "%%%02X", (unsigned)*c);
		else
			str_add_char(out, *c);
}

void tags_add_text(struct tags *t, const char *key, const char *text)
{
	struct str tag = { 0 };

	add_escaped(&tag, key, ",=:");
	str_add_char(&tag, '=');
	add_escaped(&tag, text, ",");
	vec_push(&t->all, str_take(&tag));
}

void tags_add_number(struct tags *t, const char *key, s64 number, const char *unit)
{
	struct str tag = { 0 };

	add_escaped(&tag, key, ",=:");
	str_addf(&tag, ":%lld%s", (long long)number, *unit ? " " : "");
	add_escaped(&tag, unit, ",");
	vec_push(&t->all, str_take(&tag));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *tags_take(struct tags *t)
{
	struct str text = { 0 };

	str_add(&text, "");
	if (t->all.nr)
		qsort(t->all.at, t->all.nr, sizeof(t->all.at[0]), by_text);
	vec_each(tag, &t->all) {
		str_addf(&text, "%s%s", text.len ? ", " : "", *tag);
		free(*tag);
	}
	vec_fini(&t->all);
	*t = (struct tags){ 0 };
	return str_take(&text);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char *unescaped(const char *at, const char *end)
{
	struct str text = { 0 };

	str_add(&text, "");
	while (at < end) {
		int high = *at == '%' && end - at > 2 ? hex_digit(at[1]) : -1;
		int low = high >= 0 ? hex_digit(at[2]) : -1;
		bool is_escape = low >= 0 && high * 16 + low >= ' ';
		str_add_char(&text, is_escape ? (char)(high * 16 + low) : *at);
		at += is_escape ? 3 : 1;
	}
	return str_take(&text);
}

bool tag_next(const char **at, struct tag *out)
{
	const char *start = *at, *end = start + strcspn(start, ",");
	const char *sign = start + strcspn(start, "=:,");
	char *unit;

	if (!*start)
		return false;
	*at = *end ? end + 1 + strspn(end + 1, " ") : end;
	*out = (struct tag){ .key = unescaped(start, sign < end ? sign : end) };
	const char *value = sign < end ? sign + 1 : end;
	if (sign < end && *sign == ':') {
		out->number = strtoll(value, &unit, 10);
		out->is_number = unit > value && unit <= end;
		if (out->is_number)
			value = unit + (unit < end && *unit == ' ');
	}
	out->text = unescaped(out->is_number ? end : value, end);
	out->unit = unescaped(out->is_number ? value : end, end);
	return true;
}

void tag_fini(struct tag *t)
{
	free(t->key);
	free(t->text);
	free(t->unit);
}
