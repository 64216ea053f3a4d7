/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises names of Java methods as perf maps write them. */
#include "profile/frames/java_form.h"

#include <string.h>

#define DIMENSIONS_MAX 255

/* The rest of the text. */
struct scan {
	const char *at, *end;
};

/* "a.B.m" or "a/B" and "m". */
struct method {
	const char *class, *class_end, *name, *name_end;
	bool is_constructed; /* the class name ends in an address */
	u32 nr_dims;         /* number of dimensions, if it is an array of that class */
};

static bool is_at(const struct scan *s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s->end - s->at) >= len && !memcmp(s->at, text, len);
}

static bool skip(struct scan *s, const char *text)
{
	bool is_there = is_at(s, text);

	s->at += is_there ? strlen(text) : 0;
	return is_there;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Kotlin has dashes in method names. */
static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$' || c == '-' || (u8)c >= 0x80;
}

static bool skip_word(struct scan *s)
{
	if (s->at == s->end || is_digit(*s->at) || *s->at == '-')
		return false;
	const char *start = s->at;
	while (s->at < s->end && is_word(*s->at))
		s->at++;
	return s->at > start;
}

/* "+0x7f8b5c001200", "/0x..", ".0x..", each optionally followed by "/1234". */
static bool skip_address(struct scan *s)
{
	struct scan at = *s;

	if (at.at == at.end || !strchr("+/.", *at.at))
		return false;
	at.at++;
	if (!skip(&at, "0x"))
		return false;
	const char *digits = at.at;
	while (at.at < at.end && (is_digit(*at.at) || (*at.at >= 'a' && *at.at <= 'f')))
		at.at++;
	if (at.at == digits)
		return false;
	if (skip(&at, "/"))
		while (at.at < at.end && is_digit(*at.at))
			at.at++;
	*s = at;
	return true;
}

static bool skip_name(struct scan *s)
{
	return skip(s, "<init>") || skip(s, "<clinit>") || skip_word(s);
}

/*
 * "int", "java.lang.String[]". *is_plain: the type is a single word that is not a primitive type.
 */
static bool skip_type(struct scan *s, bool *is_plain)
{
	static const char *const primitives[] = { "void", "boolean", "byte",  "char",  "short",
						  "int",  "long",    "float", "double" };
	const char *start = s->at;

	if (!skip_word(s))
		return false;
	size_t len = (size_t)(s->at - start);
	*is_plain = true;
	for (size_t i = 0; i < ARRAY_SIZE(primitives); i++)
		if (len == strlen(primitives[i]) && !memcmp(start, primitives[i], len))
			*is_plain = false;
	while (skip_address(s) || skip(s, ".")) {
		*is_plain = false;
		if (s->at[-1] == '.' && !skip_word(s))
			return false;
	}
	while (skip(s, "[]"))
		*is_plain = false;
	return true;
}

/* "()", "(int, java.lang.String[])" */
static bool skip_types(struct scan *s)
{
	bool unused;

	if (!skip(s, "("))
		return false;
	if (skip(s, ")"))
		return true;
	do {
		if (!skip_type(s, &unused))
			return false;
	} while (skip(s, ", "));
	return skip(s, ")");
}

/* "a.B.m" */
static bool skip_dotted(struct scan *s, struct method *m)
{
	m->class = s->at;
	m->is_constructed = false;
	if (!skip_word(s))
		return false;
	do {
		m->class_end = s->at;
		m->is_constructed = skip_address(s);
		if (!skip(s, "."))
			return false;
		m->name = s->at;
		if (!skip_name(s))
			return false;
		m->name_end = s->at;
	} while (!m->is_constructed && s->at < s->end && strchr(".+/", *s->at));
	return true;
}

/* "void a.B.m(int)". The argument types may be cut off. */
static bool is_of_jvm(struct scan s, struct method *m)
{
	struct scan whole = s;
	bool is_plain = true, has_type = skip_type(&s, &is_plain) && skip(&s, " ");

	if (!has_type)
		s = whole;
	if (!skip_dotted(&s, m) || (!has_type && !m->is_constructed))
		return false;
	bool has_types = skip_types(&s);
	return s.at == s.end && (has_types || !has_type || !is_plain);
}

/* "a/B" or "a.B$$Lambda+0x7f", with *separator between its parts. */
static bool skip_class(struct scan *s, struct method *m, const char *separator)
{
	bool has_package = false;

	do {
		has_package |= s->at > m->class;
		if (!skip_word(s))
			return false;
		m->class_end = s->at;
		m->is_constructed = skip_address(s);
	} while (!m->is_constructed && skip(s, separator));
	return has_package;
}

/* "I", "[[J", "La/B;". async-profiler writes "|" for ";", which separates frames there. */
static bool skip_descriptor_type(struct scan *s)
{
	while (skip(s, "["))
		;
	if (s->at == s->end)
		return false;
	if (*s->at != 'L')
		return strchr("BCDFIJSZ", *s->at++);
	const char *start = ++s->at;
	while (s->at < s->end && (is_word(*s->at) || strchr("/+.", *s->at)))
		s->at++;
	return s->at > start && (skip(s, ";") || skip(s, "|"));
}

/* "(ILjava/lang/String;)V" */
static bool skip_descriptor(struct scan *s)
{
	if (!skip(s, "("))
		return false;
	while (!skip(s, ")"))
		if (!skip_descriptor_type(s))
			return false;
	return skip(s, "V") || skip_descriptor_type(s);
}

/* "a/B.m(I)V", and "a.B.m(I)V" */
static bool is_signed(struct scan s, struct method *m)
{
	struct scan whole = s;

	*m = (struct method){ .class = s.at };
	if (skip_class(&s, m, "/") && skip(&s, ".")) {
		m->name = s.at;
		if (!skip_name(&s))
			return false;
		m->name_end = s.at;
	} else {
		s = whole;
		if (!skip_dotted(&s, m))
			return false;
	}
	return skip_descriptor(&s) && s.at == s.end;
}

/* "a.B::m(I)V" of perf-map-agent with dottedclass; .NET has "a.B::m". */
static bool is_dotted_of_agent(struct scan s, struct method *m)
{
	*m = (struct method){ .class = s.at };
	if (!skip_class(&s, m, ".") || !skip(&s, "::"))
		return false;
	m->name = s.at;
	if (!skip_name(&s))
		return false;
	m->name_end = s.at;
	return skip_descriptor(&s) && s.at == s.end;
}

/*
 * "La/B;::m(I)V", or "La/B;.m" of older agents; an array begins with "[". stackcollapse-perf.pl
 * makes it "a/B:::m" or "La/B:::m".
 */
static bool is_of_agent(struct scan s, struct method *m)
{
	*m = (struct method){ 0 };
	while (skip(&s, "["))
		m->nr_dims++;
	bool has_slash, has_l = is_at(&s, "L");

	m->class = s.at;
	if (m->nr_dims && !has_l)
		return false;
	has_slash = skip_class(&s, m, "/");
	if (!m->class_end)
		return false;
	bool is_raw = has_l && (skip(&s, ";::") || skip(&s, ";."));
	if (!is_raw && !skip(&s, ":::") && !(has_slash && skip(&s, ":.")))
		return false;
	m->name = s.at;
	if (!skip_name(&s))
		return false;
	m->name_end = s.at;
	m->class += has_l && m->class_end - m->class > 1;
	return s.at == s.end || *s.at == '(';
}

bool java_form_unwrap(const char *text, size_t len, struct str *out)
{
	struct scan s = { text, text + len };
	struct method m = { 0 };

	if (!is_of_jvm(s, &m) && !is_of_agent(s, &m) && !is_dotted_of_agent(s, &m) &&
	    !is_signed(s, &m))
		return false;
	if (out) {
		str_add_bytes(out, m.class, (size_t)(m.class_end - m.class));
		for (u32 i = 0; i < m.nr_dims && i < DIMENSIONS_MAX; i++)
			str_add(out, "[]");
		str_add_char(out, '.');
		str_add_bytes(out, m.name, (size_t)(m.name_end - m.name));
	}
	return true;
}

bool java_form_is_method(const char *text, size_t len)
{
	struct scan s = { text, text + len };
	struct method m;

	return java_form_unwrap(text, len, NULL) || (skip_dotted(&s, &m) && s.at == s.end);
}

size_t java_form_len(const char *text, size_t len, size_t *seen)
{
	struct scan s = { text, text + len };
	struct method m = { .class = text };
	bool is_method = false;

	while (skip(&s, "["))
		;
	if (is_at(&s, "L")) {
		m.class = s.at;
		skip_class(&s, &m, "/");
		is_method = (skip(&s, ";::") || skip(&s, ";.")) && skip_name(&s);
	}
	struct scan behind = s;
	bool has_descriptor = is_method && skip_descriptor(&behind);
	*seen = (size_t)(behind.at - text) + strlen("<clinit>");
	if (!is_method)
		return 0;
	return (size_t)((has_descriptor ? behind.at : s.at) - text);
}
