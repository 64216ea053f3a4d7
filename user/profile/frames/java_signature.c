/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of Java methods. */
#include "profile/frames/java_signature.h"

#include <string.h>

#define DIMENSIONS_MAX 255

static const char *const primitives[] = { "Bbyte", "Cchar",  "Ddouble",  "Ffloat", "Iint",
					  "Jlong", "Sshort", "Zboolean", "Vvoid" };

/* Appends the type at `at`. Returns the text behind it, NULL if it is damaged. */
static const char *show_type(const char *at, struct str *out)
{
	size_t nr_dims = strspn(at, "[");
	const char *end = NULL;

	at += nr_dims;
	if (nr_dims > DIMENSIONS_MAX)
		return NULL;
	if (*at == 'L') {
		end = strpbrk(at, ";|"); /* "|" is async-profiler's */
		for (const char *c = at + 1; end && c < end; c++)
			str_add_char(out, *c == '/' ? '.' : *c);
	}
	for (size_t i = 0; !end && i < ARRAY_SIZE(primitives); i++)
		if (*at && *at == *primitives[i]) {
			str_add(out, primitives[i] + 1);
			end = at;
		}
	for (; end && nr_dims; nr_dims--)
		str_add(out, "[]");
	return end ? end + 1 : NULL;
}

void java_signature_show(const char *descriptor, struct str *out)
{
	auto_str struct str text = { 0 };
	const char *at = descriptor;
	bool is_first = true;

	if (*at++ != '(')
		return;
	str_add_char(&text, '(');
	for (; at && *at && *at != ')'; is_first = false) {
		if (!is_first)
			str_add_char(&text, ',');
		at = show_type(at, &text);
	}
	if (!at || *at != ')')
		return;
	str_add_char(&text, ')');
	at = show_type(at + 1, &text);
	if (at && !*at)
		str_add_bytes(out, text.at, text.len);
}

static bool is_in_type(char c)
{
	return c && !strchr(",() ;<>*&", c);
}

/*
 * Appends the descriptor of the type that begins at `at`. Returns the text after the type, or NULL
 * if there is no valid type.
 */
static const char *hide_type(const char *at, struct str *out)
{
	const char *end = at;

	while (is_in_type(*end))
		end++;
	const char *next = end;
	for (; end - at > 2 && !strncmp(end - 2, "[]", 2); end -= 2)
		str_add_char(out, '[');
	size_t len = (size_t)(end - at);
	if (!len || memchr(at, '[', len) || memchr(at, ']', len))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(primitives); i++)
		if (len == strlen(primitives[i] + 1) && !strncmp(at, primitives[i] + 1, len)) {
			str_add_char(out, *primitives[i]);
			return next;
		}
	str_add_char(out, 'L');
	for (; at < end; at++)
		str_add_char(out, *at == '.' ? '/' : *at);
	str_add_char(out, ';');
	return next;
}

size_t java_signature_hide(const char *name, struct str *out)
{
	auto_str struct str text = { 0 };
	const char *open = strrchr(name, '('), *at = open ? open + 1 : NULL;

	if (!open || open == name)
		return strlen(name);
	java_signature_show(open, &text); /* "(I)V" */
	if (text.len) {
		str_clear(&text);
		str_add(out, open);
		for (char *c = out->at + out->len - strlen(open); *c; c++)
			*c = *c == '|' ? ';' : *c;
		return (size_t)(open - name);
	}
	str_add_char(&text, '(');
	while (at && *at && *at != ')') {
		at = hide_type(at, &text);
		if (at && *at == ',' && at[1] != ')')
			at++;
		else if (at && *at != ')')
			at = NULL;
	}
	if (!at || *at != ')')
		return strlen(name);
	str_add_char(&text, ')');
	at = hide_type(at + 1, &text);
	if (!at || *at)
		return strlen(name);
	str_add_bytes(out, text.at, text.len);
	return (size_t)(open - name);
}
