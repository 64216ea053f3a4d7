/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers and names for people. */
#include "export/writers/amount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *grouped(u64 number, char *text)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	char *out = text;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return text;
}

static void add_scaled(struct str *out, u64 value, double step, const char *const *units)
{
	double scaled = (double)value;

	for (; scaled >= step * 0.9995 && units[1]; units++)
		scaled /= step;
	str_addf(out, "%.*f %s", scaled < 10 ? 2 : scaled < 100 ? 1 : 0, scaled, *units);
}

void amount_add(struct str *out, u64 value, const char *unit)
{
	static const char *const bytes[] = { "B", "kB", "MB", "GB", "TB", "PB", NULL };
	static const char *const times[] = { "ns", "us", "ms", "s", NULL };
	char digits[GROUPED_BYTES];

	if (!strcmp(unit, "bytes") && value >= 1000)
		add_scaled(out, value, 1000, bytes);
	else if (!strcmp(unit, "ns") && value >= 1000)
		add_scaled(out, value, 1000, times);
	else
		str_add(out, grouped(value, digits));
	if (value < 1000 && (!strcmp(unit, "bytes") || !strcmp(unit, "ns")))
		str_addf(out, " %s", *unit == 'b' ? "B" : "ns");
}

void share_add(struct str *out, u64 part, u64 whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0.0;

	if (part && share < 0.005)
		str_add(out, "< 0.01 %");
	else
		str_addf(out, "%.2f %%", share);
}

/* The length in bytes of the text direction mark at `s`; 0 if there is none. */
static size_t mark_len(const char *s)
{
	const u8 *u = (const u8 *)s;

	if (u[0] != 0xe2)
		return 0;
	if (u[1] == 0x80 && ((u[2] >= 0xaa && u[2] <= 0xae) || u[2] == 0x8e || u[2] == 0x8f))
		return 3;
	return u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9 ? 3 : 0;
}

static bool is_start(char c)
{
	return (c & 0xc0) != 0x80;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += is_start(*text);
	return width;
}

static void add_cut(struct str *out, const char *name, size_t room)
{
	bool is_cut = text_width(name) > room;
	size_t left = is_cut && room ? room - 1 : room;

	while (*name) {
		size_t skip = mark_len(name);
		if (is_start(*name) && left-- == 0)
			break;
		if (skip) {
			str_add(out, "\xef\xbf\xbd");
			name += skip;
		} else {
			str_add_char(out, *name++);
		}
	}
	if (is_cut && room)
		str_add(out, "\xe2\x80\xa6");
}

/* The last parts of "a.b.C.m(X)" or "a/b/C.m": 2 parts are "C.m(X)", 1 part is "m(X)". */
static const char *without(const char *name, int nr_parts)
{
	const char *end = name + strcspn(name, "(<"), *at = end;

	for (; nr_parts > 0 && at > name; nr_parts--)
		for (at--; at > name && at[-1] != '.' && at[-1] != '/';)
			at--;
	return at;
}

void short_name_add(struct str *out, const char *name, bool is_java, size_t room)
{
	if (is_java && text_width(name) > room)
		name = without(name, 2);
	if (is_java && text_width(name) > room)
		name = without(name, 1);
	add_cut(out, name, room);
}
