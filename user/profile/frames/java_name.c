/* SPDX-License-Identifier: Apache-2.0 */
/* Makes names of Java methods readable. */
#include "profile/frames/java_name.h"

#include <string.h>

#include "profile/frames/java_form.h"

#define ADDRESS_DIGITS 8 /* minimum number of digits in the address of a hidden class */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_word(char c)
{
	return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || c == '_';
}

static bool ends_with(const struct str *s, const char *end)
{
	size_t len = strlen(end);

	return s->len >= len && !memcmp(s->at + s->len - len, end, len);
}

static void cut_to(struct str *s, size_t len)
{
	s->len = len;
	s->at[len] = '\0';
}

/*
 * NAME+0x7f8b..., NAME/0x..., NAME.0x...: a hidden class. NAME/123: a hidden class of JDK 8 to 14.
 * Flight Recorder writes both: NAME+0x7f8b.../123.
 */
static bool cut_address(struct str *class)
{
	size_t len = class->len;

	while (len && is_hex(class->at[len - 1]))
		len--;
	size_t nr_digits = class->len - len;
	if (len > 1 && class->at[len - 1] == 'x' && class->at[len - 2] == '0' &&
	    nr_digits >= ADDRESS_DIGITS)
		len -= 2;
	else if (!nr_digits || !strstr(class->at, "$$Lambda$"))
		return false;
	if (len < 2 || !strchr("+./", class->at[len - 1]))
		return false;
	cut_to(class, len - 1);
	return true;
}

static void cut_addresses(struct str *class)
{
	while (cut_address(class))
		;
}

/*
 * A mark in the names of generated classes. Tools append an id to it; the first `keep` bytes of the
 * mark stay.
 */
struct made_by {
	const char *mark;
	size_t keep;
	bool (*is_id)(char c);
};

static const struct made_by makers[] = {
	{ "$$Lambda$", 8, is_digit },
	{ "LambdaForm$MH$", 13, is_digit },
	{ "LambdaForm$DMH$", 14, is_digit },
	{ "LambdaForm$BMH$", 14, is_digit },
	{ "reflect.GeneratedMethodAccessor", 31, is_digit },
	{ "reflect.GeneratedConstructorAccessor", 36, is_digit },
	{ "reflect.GeneratedSerializationConstructorAccessor", 49, is_digit },
	{ "$Proxy", 6, is_digit },
	{ "CGLIB$$", 5, is_hex },
	{ "$MockitoMock$", 12, is_digit },
	{ "$HibernateProxy$", 15, is_word },
	{ "$ByteBuddy$", 10, is_word },
	{ "_$$_javassist_", 13, is_digit },
	{ "_$$_jvst", 8, is_word },
};

static void cut_made_ids(struct str *class)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		char *mark = strstr(class->at, makers[i].mark);
		if (!mark)
			continue;
		char *end = mark + strlen(makers[i].mark), *start = end;
		while (makers[i].is_id(*end))
			end++;
		/*
		 * Another part of the name follows directly: "$Proxy1Factory" is a class from
		 * source.
		 */
		if (end == start || (*end && *end != '$'))
			continue;
		memmove(mark + makers[i].keep, end, strlen(end) + 1);
		cut_to(class, strlen(class->at));
	}
}

/* Proxies of the JDK are in packages jdk.proxy1, jdk.proxy2, ..., one per class loader. */
static void cut_proxy_package(struct str *class)
{
	const size_t len = strlen("jdk.proxy");

	if (strncmp(class->at, "jdk.proxy", len) || !is_digit(class->at[len]))
		return;
	char *end = class->at + len;
	while (is_digit(*end))
		end++;
	if (*end != '.')
		return;
	memmove(class->at + len, end, strlen(end) + 1);
	cut_to(class, strlen(class->at));
}

static enum clojure_part part_of(const char *method)
{
	if (!strcmp(method, "invoke") || !strcmp(method, "doInvoke"))
		return CLOJURE_OUTER;
	if (!strcmp(method, "invokeStatic") || !strcmp(method, "invokePrim"))
		return CLOJURE_INNER;
	return CLOJURE_NONE;
}

/*
 * Recognises namespace$function$fn__123. Kotlin's lambdas also have invoke(), but plain numbers
 * between the dollars. Java's nested classes are inside a class, whose name begins with a capital.
 */
static bool is_clojure_function(const char *class)
{
	const char *dollar = strchr(class, '$'), *dot = strrchr(class, '.');

	if (!dollar || dollar == class || !strncmp(class, "clojure.lang.", 13))
		return false;
	if (dot && dot > dollar)
		return false;
	for (const char *c = dollar; c; c = strchr(c + 1, '$'))
		if (!c[1] || c[1] == '$' || is_digit(c[1]))
			return false;
	return !is_upper(dot ? dot[1] : class[0]) || strstr(dollar, "__");
}

/*
 * The words that Clojure writes for characters that Java does not allow (CHAR_MAP in
 * Compiler.java).
 */
static size_t munged_char(const char *word, char *c)
{
	static const struct {
		const char *word;
		char c;
	} words[] = {
		{ "_COLON_", ':' },   { "_PLUS_", '+' },         { "_GT_", '>' },
		{ "_LT_", '<' },      { "_EQ_", '=' },           { "_TILDE_", '~' },
		{ "_BANG_", '!' },    { "_CIRCA_", '@' },        { "_SHARP_", '#' },
		{ "_STAR_", '*' },    { "_SINGLEQUOTE_", '\'' }, { "_DOUBLEQUOTE_", '"' },
		{ "_CARET_", '^' },   { "_PERCENT_", '%' },      { "_AMPERSAND_", '&' },
		{ "_BAR_", '|' },     { "_LBRACE_", '{' },       { "_RBRACE_", '}' },
		{ "_LBRACK_", '[' },  { "_RBRACK_", ']' },       { "_SLASH_", '/' },
		{ "_BSLASH_", '\\' }, { "_QMARK_", '?' },
	};

	for (size_t i = 0; is_upper(word[1]) && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(word, words[i].word, strlen(words[i].word))) {
			*c = words[i].c;
			return strlen(words[i].word);
		}
	*c = '-';
	return 1;
}

static void add_clojure(struct str *out, const char *class)
{
	while (*class) {
		char c = *class == '$' ? '/' : *class;
		class += *class == '_' ? munged_char(class, &c) : 1;
		str_add_char(out, c);
	}
}

/*
 * The words that Scala writes for operators (scala.reflect.NameTransformer). Other characters
 * ("$u20AC") stay as they are.
 */
static size_t scala_char(const char *word, char *c)
{
	static const struct {
		const char *word;
		char c;
	} words[] = {
		{ "$tilde", '~' }, { "$eq", '=' },    { "$less", '<' },    { "$greater", '>' },
		{ "$bang", '!' },  { "$hash", '#' },  { "$percent", '%' }, { "$up", '^' },
		{ "$amp", '&' },   { "$bar", '|' },   { "$times", '*' },   { "$div", '/' },
		{ "$plus", '+' },  { "$minus", '-' }, { "$colon", ':' },   { "$bslash", '\\' },
		{ "$qmark", '?' }, { "$at", '@' },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(word, words[i].word, strlen(words[i].word))) {
			*c = words[i].c;
			return strlen(words[i].word);
		}
	return 0;
}

/*
 * Decodes operators that begin a name or follow '_' or '$', and end there: "x_$eq", "$colon$colon",
 * "Predef$$less$colon$less". Java's "lambda$times$0" and Kotlin's "main$bar" stay.
 */
static void add_scala(struct str *out, const char *name)
{
	for (const char *at = name; *at;) {
		auto_str struct str decoded = { 0 };
		const char *end = at;
		bool begins = at == name || strchr("._$", at[-1]);
		char c;

		for (size_t len; begins && (len = scala_char(end, &c)); end += len)
			str_add_char(&decoded, c);
		if (end > at && strchr(".$(", *end)) {
			str_add(out, decoded.at);
			at = end;
		} else {
			str_add_char(out, *at++);
		}
	}
}

/* Splits "a/b/C.m" or "a.b.C.m(int)" into class and method; false for other names. */
static bool split(const char *name, struct str *class, const char **method)
{
	const char *open = strchr(name, '(');
	const char *dot = memrchr(name, '.', open ? (size_t)(open - name) : strlen(name));

	if (!dot || dot == name || !dot[1] || dot[1] == '(') /* Go: "net/http.(*Client).Do" */
		return false;
	str_add_bytes(class, name, (size_t)(dot - name));
	*method = dot + 1;
	cut_addresses(class);
	if (strpbrk(class->at, " :()<>*~")) /* "JS:*f /a/b.js:1:2" of Node, and the like */
		return false;
	/* A Clojure name as shown (ns/f) or a path: neither is a class with slashes. */
	const char *slash = strchr(class->at, '/');
	if (!slash)
		return true;
	if (slash == class->at || strchr(class->at, '.') || strchr(class->at, '-'))
		return false;
	for (char *c = class->at; (c = strchr(c, '/'));)
		*c = '.';
	return true;
}

void java_class_show(const char *name, struct str *out)
{
	auto_str struct str class = { 0 };
	const char *dims = strstr(name, "[]") ?: name + strlen(name);

	str_add_bytes(&class, name, (size_t)(dims - name));
	cut_addresses(&class);
	for (char *c = class.at; (c = strchr(c, '/'));)
		*c = '.';
	cut_made_ids(&class);
	cut_proxy_package(&class);
	add_scala(out, class.at);
	str_add(out, dims);
}

enum clojure_part java_name_show(const char *name, struct str *out)
{
	auto_str struct str class = { 0 }, plain = { 0 };
	const char *method;

	if (java_form_unwrap(name, strlen(name), &plain))
		name = plain.at;
	if (!split(name, &class, &method)) {
		str_add(out, name);
		return CLOJURE_NONE;
	}
	enum clojure_part part = part_of(method);
	if (part && is_clojure_function(class.at)) {
		add_clojure(out, class.at);
		return part;
	}
	cut_made_ids(&class);
	cut_proxy_package(&class);
	add_scala(out, class.at);
	str_add_char(out, '.');
	add_scala(out, method);
	return CLOJURE_NONE;
}

void java_name_drop_ids(const char *name, struct str *out)
{
	static const char *const before[] = { "eval", "--", "__", ".", "$" };

	str_add(out, "");
	while (*name) {
		bool is_id = false;
		for (size_t i = 0; is_digit(*name) && i < sizeof(before) / sizeof(before[0]); i++)
			is_id |= ends_with(out, before[i]);
		while (is_id && is_digit(*name))
			name++;
		if (*name)
			str_add_char(out, *name++);
	}
}
