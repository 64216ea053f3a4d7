/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of transforms. */
#include "profile/frames/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "profile/frames/frame.h"

/*
 * The length of a simple class such as "[a-zA-Z0-9_x\d]", none of whose members is ';'. 0 for
 * classes that this check does not understand.
 */
static size_t plain_class_len(const char *open)
{
	const char *c = open + 1;

	while (*c && *c != ']') {
		if (!strncmp(c, "a-z", 3) || !strncmp(c, "A-Z", 3) || !strncmp(c, "0-9", 3))
			c += 3;
		else if (*c == '\\' && c[1] && strchr("wds.$/()[]{}+*?|\\", c[1]))
			c += 2;
		else if (*c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
			 (*c >= 'a' && *c <= 'z'))
			c++;
		else
			return 0;
	}
	return *c && c > open + 1 ? (size_t)(c + 1 - open) : 0;
}

/* Returns false when in doubt, which is correct but slow. */
static bool looks_at_names_only(const char *source)
{
	while (*source) {
		size_t len = 1;
		if (*source == '[')
			len = plain_class_len(source);
		else if (*source == '\\')
			len = source[1] && strchr("wds.$/()[]{}+*?|\\-", source[1]) ? 2 : 0;
		else if (*source == '(' && source[1] == '?')
			len = source[2] == ':' ? 3 : 0;
		else if (strchr(".^$;]", *source))
			len = 0;
		if (!len)
			return false;
		source += len;
	}
	return true;
}

struct kind_word {
	const char *word;
	u32 kinds;
};

static const struct kind_word kind_words[] = {
	{ "kernel", 1u << FRAME_KERNEL },
	{ "native", 1u << FRAME_NATIVE | 1u << FRAME_UNKNOWN },
	{ "jvm", 1u << FRAME_JVM },
	{ "java", 1u << FRAME_INTERPRETED | 1u << FRAME_C1 | 1u << FRAME_C2 | 1u << FRAME_INLINED },
	{ "level", 1u << FRAME_GROUP },
	{ "stub", 1u << FRAME_STUB },
	{ "class", 1u << FRAME_CLASS },
};

#define KINDS "kind:"

static bool is_of_kinds(const char *what)
{
	return !strncmp(what, KINDS, strlen(KINDS));
}

/* The kinds of "kind:kernel,native"; 0 for any other text, and for unknown kinds. */
static u32 parse_kinds(const char *what)
{
	u32 kinds = 0;

	if (!is_of_kinds(what))
		return 0;
	for (what += strlen(KINDS);; what++) {
		size_t len = strcspn(what, ","), i = 0;
		while (i < ARRAY_SIZE(kind_words) && (strlen(kind_words[i].word) != len ||
						      strncmp(kind_words[i].word, what, len) != 0))
			i++;
		if (i == ARRAY_SIZE(kind_words))
			return 0;
		kinds |= kind_words[i].kinds;
		what += len;
		if (!*what)
			return kinds;
	}
}

static int init_regex(struct pattern *p, const char *source, struct str *why)
{
	int err = regex_new(source, &p->regex, why);

	if (err)
		return err;
	p->text = "";
	p->is_local = looks_at_names_only(source) && !regex_test(p->regex, "", 0);
	return 0;
}

/* The last of the parts that "/ & /" separates stays in `p`, the others are in a list. */
static int init_parts(struct pattern *p, char *source, struct str *why)
{
	static const char mark[] = "/ & /";

	for (char *end; (end = strstr(source, mark)); source = end + sizeof(mark) - 1) {
		struct pattern *part = xcalloc(1, sizeof(*part));
		part->also = p->also;
		p->also = part;
		*end = '\0';
		int err = init_regex(part, source, why);
		if (err)
			return err;
	}
	return init_regex(p, source, why);
}

int pattern_init(struct pattern *p, const char *what, struct str *why)
{
	size_t len = strlen(what);

	*p = (struct pattern){ .text = what };
	if (is_of_kinds(what) && !parse_kinds(what)) {
		str_add(why, "kinds are");
		for (size_t i = 0; i < ARRAY_SIZE(kind_words); i++)
			str_addf(why, "%s %s", i ? "," : "", kind_words[i].word);
		return -EINVAL;
	}
	if (len < 3 || what[0] != '/' || what[len - 1] != '/') {
		const char *semicolon = len > 1 ? strchr(what + 1, ';') : NULL;
		p->kinds = parse_kinds(what);
		p->is_local = !semicolon || !semicolon[1];
		return 0;
	}
	p->source = xstrndup(what + 1, len - 2);
	int err = init_parts(p, p->source, why);
	if (err) {
		pattern_fini(p);
		*p = (struct pattern){ 0 };
	}
	for (const struct pattern *also = p->also; also; also = also->also)
		p->is_local = p->is_local && also->is_local;
	return err;
}

void pattern_fini(struct pattern *p)
{
	regex_free(p->regex);
	free(p->source);
	for (struct pattern *also = p->also, *next; also; also = next) {
		next = also->also;
		regex_free(also->regex);
		free(also);
	}
}

void pattern_set_end(struct pattern *p, u64 end_ns)
{
	for (const struct pattern *at = p; at; at = at->also)
		if (at->regex)
			regex_set_end(at->regex, end_ns);
}

int pattern_is_in(const struct pattern *p, const char *stack, size_t len)
{
	int found = p->regex ? regex_test(p->regex, stack, len) : strstr(stack, p->text) != NULL;

	return found > 0 && p->also ? pattern_is_in(p->also, stack, len) : found;
}

int pattern_is_in_name(const struct pattern *p, const char *name)
{
	auto_str struct str framed = { 0 };

	if (p->regex)
		return pattern_is_in(p, name, strlen(name));
	str_addf(&framed, ";%s;", name);
	return strstr(framed.at, p->text) != NULL;
}

int pattern_replace(const struct pattern *p, const char *text, size_t len, const char *to,
		    struct str *out)
{
	int any = 0;

	if (p->regex)
		return regex_replace(p->regex, text, len, to, out);
	for (const char *found; (found = strstr(text, p->text)); any = 1) {
		str_add_bytes(out, text, (size_t)(found - text));
		str_add(out, to);
		text = found + strlen(p->text);
		if (out->len > REPLACED_MAX)
			return -E2BIG;
	}
	str_add(out, text);
	return out->len > REPLACED_MAX ? -E2BIG : any;
}

bool pattern_replaces_names(const struct pattern *p, const char *to)
{
	if (!p->is_local || strchr(p->text, ';') || strchr(to, ';'))
		return false;
	for (const char *c = to; (c = strchr(c, '$')); c++)
		if (c[1] && strchr("`'&<", c[1]))
			return false;
	return true;
}
