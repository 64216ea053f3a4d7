/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript's regular expressions, matched by PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "profile/frames/regex.h"

#include <errno.h>
#include <pcre2.h>
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"

/* The translation to the syntax of PCRE2. */

struct group_name {
	char *text;
	u32 group;
};

struct regex_source {
	struct str text; /* for pcre2_compile */
	u32 nr_groups;
	VEC(struct group_name) names;
};

#define SPACES                                                                               \
	"\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}" \
	"\\x{205f}\\x{3000}\\x{feff}"
#define NO_SPACES                                                                                 \
	"\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}" \
	"-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}"  \
	"\\x{ff00}-\\x{10ffff}"

/* Whether an open group may have a quantifier after its end. */
enum group_kind {
	GROUP_PLAIN,     /* may be repeated */
	GROUP_LOOKBEHIND /* may not */
};

struct translation {
	const char *at, *end;
	struct regex_source *out;
	struct str *why;
	bool can_repeat; /* the previous item may have a quantifier */
	VEC(enum group_kind) open;
};

static int refuse(struct translation *t, const char *what)
{
	str_add(t->why, what);
	return -EINVAL;
}

static bool next_is(const struct translation *t, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(t->end - t->at) >= len && !memcmp(t->at, text, len);
}

static bool skip(struct translation *t, const char *text)
{
	bool is = next_is(t, text);

	t->at += is ? strlen(text) : 0;
	return is;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads one character; the source is valid UTF-8. */
static u32 take_char(struct translation *t)
{
	u8 first = (u8)*t->at++;
	u32 c = first < 0x80   ? first
		: first < 0xe0 ? first & 0x1f
		: first < 0xf0 ? first & 15
			       : first & 7;

	while (t->at < t->end && ((u8)*t->at & 0xc0) == 0x80)
		c = c << 6 | ((u8)*t->at++ & 0x3f);
	return c;
}

static void add_char(struct translation *t, u32 c)
{
	/* No text contains half of a surrogate pair. */
	if (c >= 0xd800 && c <= 0xdfff)
		c = 0x10ffff;
	str_addf(&t->out->text, "\\x{%x}", c);
}

/* Reads exactly `nr` hexadecimal digits; otherwise reads nothing. */
static bool take_hex(struct translation *t, int nr, u32 *value)
{
	u32 v = 0;

	for (int i = 0; i < nr; i++) {
		char c = t->at + i < t->end ? t->at[i] : '\0';
		u32 lower = (u32)c | 0x20;
		if (is_digit(c))
			v = v << 4 | (u32)(c - '0');
		else if (lower >= 'a' && lower <= 'f')
			v = v << 4 | (lower - 'a' + 10);
		else
			return false;
	}
	t->at += nr;
	*value = v;
	return true;
}

static u32 take_unicode(struct translation *t)
{
	u32 high, low;

	if (!take_hex(t, 4, &high))
		return 'u';
	const char *behind = t->at;
	if (high >= 0xd800 && high <= 0xdbff && skip(t, "\\u") && take_hex(t, 4, &low) &&
	    low >= 0xdc00 && low <= 0xdfff)
		return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	t->at = behind;
	return high;
}

/* Reads up to three octal digits, at most 377. */
static u32 take_octal(struct translation *t)
{
	u32 value = 0;

	for (int i = 0; i < 3 && t->at < t->end && *t->at >= '0' && *t->at <= '7'; i++) {
		if (value * 8 + (u32)(*t->at - '0') > 0377)
			break;
		value = value * 8 + (u32)(*t->at++ - '0');
	}
	return value;
}

static u32 take_control(struct translation *t, bool in_class)
{
	char c = t->at < t->end ? *t->at : '\0';

	if (is_letter(c) || (in_class && (is_digit(c) || c == '_'))) {
		t->at++;
		return (u32)c & 31;
	}
	t->at--; /* no valid control letter: the backslash is literal and the "c" is read next */
	return '\\';
}

/* Reads the single character that an escape stands for; the backslash is already read. */
static u32 take_escaped(struct translation *t, bool in_class)
{
	static const char letters[] = "tnvfr", controls[] = "\t\n\v\f\r";
	const char *control;
	u32 value;

	if (*t->at >= '0' && *t->at <= '7')
		return take_octal(t);

	u32 c = take_char(t);
	switch (c) {
	case 'x':
		return take_hex(t, 2, &value) ? value : 'x';
	case 'u':
		return take_unicode(t);
	case 'c':
		return take_control(t, in_class);
	case 'b':
		return '\b'; /* backspace, in a class only; elsewhere the caller handles \b */
	}
	control = c < 0x80 && c ? strchr(letters, (int)c) : NULL;
	return control ? (u32)controls[control - letters] : c;
}

/* The members of \d and its like, for use within brackets; NULL for other letters. */
static const char *class_of(char c)
{
	switch (c) {
	case 'd':
		return "0-9";
	case 'D':
		return "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}";
	case 'w':
		return "0-9A-Z_a-z";
	case 'W':
		return "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}";
	case 's':
		return SPACES;
	case 'S':
		return NO_SPACES;
	}
	return NULL;
}

static int add_reference(struct translation *t, u32 group)
{
	/*
	 * A group of its own: PCRE2's compiler wrongly repeats a reference to a group that has not
	 * matched yet.
	 */
	str_addf(&t->out->text, "(?:\\g{%u})", group);
	t->can_repeat = true;
	return 0;
}

static int add_named_reference(struct translation *t)
{
	const char *close = skip(t, "<") ? memchr(t->at, '>', (size_t)(t->end - t->at)) : NULL;

	vec_each(name, &t->out->names) {
		size_t len = strlen(name->text);
		if (close && len == (size_t)(close - t->at) && !memcmp(t->at, name->text, len)) {
			t->at = close + 1;
			return add_reference(t, name->group);
		}
	}
	return refuse(t, "\\k takes the <name> of a group");
}

static int add_escape(struct translation *t)
{
	if (t->at == t->end)
		return refuse(t, "\\ at the end");
	if (skip(t, "b") || skip(t, "B")) {
		str_addf(&t->out->text, "\\%c", t->at[-1]);
		t->can_repeat = false;
		return 0;
	}
	const char *class = class_of(*t->at), *start = t->at;
	if (class) {
		t->at++;
		str_addf(&t->out->text, "[%s]", class);
	} else if (t->out->names.nr && skip(t, "k")) {
		return add_named_reference(t);
	} else {
		u32 group = 0;
		while (*start != '0' && t->at < t->end && is_digit(*t->at) && group < 100000)
			group = group * 10 + (u32)(*t->at++ - '0');
		if (group && group <= t->out->nr_groups)
			return add_reference(t, group);
		t->at = start;
		add_char(t, take_escaped(t, false));
	}
	t->can_repeat = true;
	return 0;
}

/*
 * Reads one member of a class. *class gets the members of \d and its like, or NULL for a single
 * character, which is returned.
 */
static u32 take_member(struct translation *t, const char **class)
{
	*class = NULL;
	if (*t->at != '\\')
		return take_char(t);
	t->at++;
	if (t->at == t->end)
		return '\\';
	*class = class_of(*t->at);
	if (!*class)
		return take_escaped(t, true);
	t->at++;
	return 0;
}

static void add_member(struct translation *t, u32 c, const char *class)
{
	if (class)
		str_add(&t->out->text, class);
	else
		add_char(t, c);
}

static int add_members(struct translation *t)
{
	while (t->at < t->end && *t->at != ']') {
		const char *first_class, *last_class = NULL;
		u32 first = take_member(t, &first_class), last;
		if (t->at + 1 >= t->end || *t->at != '-' || t->at[1] == ']') {
			add_member(t, first, first_class);
			continue;
		}
		t->at++;
		last = take_member(t, &last_class);
		add_member(t, first, first_class);
		if (first_class || last_class) {
			str_add(&t->out->text, "\\x{2d}");
		} else {
			if (last < first)
				return refuse(t, "a range in [ ] is out of order");
			str_add(&t->out->text, "-");
		}
		add_member(t, last, last_class);
	}
	return skip(t, "]") ? 0 : refuse(t, "[ without ]");
}

static int add_class(struct translation *t)
{
	bool is_not = skip(t, "^");

	t->can_repeat = true;
	if (skip(t, "]")) {
		str_add(&t->out->text, is_not ? "[\\x{0}-\\x{10ffff}]" : "(?:(?!))");
		return 0;
	}
	str_add(&t->out->text, is_not ? "[^" : "[");
	int err = add_members(t);
	str_add(&t->out->text, "]");
	return err;
}

static int open_group(struct translation *t)
{
	static const char *const kinds[] = { "?:", "?=", "?!", "?<=", "?<!" };
	const size_t nr_kinds = sizeof(kinds) / sizeof(kinds[0]);
	size_t kind = 0;

	while (kind < nr_kinds && !skip(t, kinds[kind]))
		kind++;
	vec_push(&t->open, kind == 3 || kind == 4 ? GROUP_LOOKBEHIND : GROUP_PLAIN);
	t->can_repeat = false;
	str_addf(&t->out->text, "(%s", kind < nr_kinds ? kinds[kind] : "");
	if (kind < nr_kinds || !skip(t, "?"))
		return 0;
	const char *close = skip(t, "<") ? memchr(t->at, '>', (size_t)(t->end - t->at)) : NULL;
	if (!close)
		return refuse(t, "(? begins a group that JavaScript does not have");
	t->at = close + 1;
	return 0;
}

static int close_group(struct translation *t)
{
	if (!t->open.nr)
		return refuse(t, ") without (");
	t->can_repeat = t->open.at[--t->open.nr] == GROUP_PLAIN;
	str_add(&t->out->text, ")");
	return 0;
}

/* The length of "{2}", "{2,}" or "{2,3}"; 0 if the brace is an ordinary character. */
static size_t braces_len(const struct translation *t)
{
	const char *c = t->at + 1, *first = c;

	while (c < t->end && is_digit(*c))
		c++;
	if (c == first)
		return 0;
	if (c < t->end && *c == ',')
		for (c++; c < t->end && is_digit(*c);)
			c++;
	return c < t->end && *c == '}' ? (size_t)(c + 1 - t->at) : 0;
}

/* Takes a quantifier. Returns 1 if there was one. */
static int add_quantifier(struct translation *t)
{
	size_t len = *t->at == '{' ? braces_len(t) : strchr("*+?", *t->at) != NULL;

	if (!len)
		return 0;
	if (!t->can_repeat)
		return refuse(t, "nothing to repeat");
	str_add_bytes(&t->out->text, t->at, len);
	t->at += len;
	if (skip(t, "?"))
		str_add(&t->out->text, "?");
	t->can_repeat = false;
	return 1;
}

static int add_plain(struct translation *t, bool can_repeat, const char *text)
{
	str_add(&t->out->text, text);
	t->can_repeat = can_repeat;
	return 0;
}

static int translate_next(struct translation *t)
{
	int err = add_quantifier(t);

	if (err)
		return err > 0 ? 0 : err;
	if (skip(t, "\\"))
		return add_escape(t);
	if (skip(t, "["))
		return add_class(t);
	if (skip(t, "("))
		return open_group(t);
	if (skip(t, ")"))
		return close_group(t);
	if (skip(t, "|"))
		return add_plain(t, false, "|");
	if (skip(t, "^"))
		return add_plain(t, false, "\\A");
	if (skip(t, "$"))
		return add_plain(t, false, "\\z");
	if (skip(t, "."))
		return add_plain(t, true, "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]");
	add_char(t, take_char(t));
	t->can_repeat = true;
	return 0;
}

static int add_name(struct translation *t, const char *start, const char *close)
{
	if (!close || close == start || is_digit(*start))
		return refuse(t, "(?< is not followed by a name and >");
	for (const char *c = start; c < close; c++)
		if (!is_letter(*c) && !is_digit(*c) && *c != '_' && *c != '$' && !(*c & 0x80))
			return refuse(t, "(?< is not followed by a name and >");

	char *name = xstrndup(start, (size_t)(close - start));
	bool is_known = false;
	vec_each(n, &t->out->names)
		is_known |= !strcmp(n->text, name);
	vec_push(&t->out->names, (struct group_name){ name, t->out->nr_groups });
	return is_known ? refuse(t, "two groups have the same name") : 0;
}

/* Counts a group; `c` is its opening parenthesis. */
static int count_group(struct translation *t, const char *c)
{
	size_t left = (size_t)(t->end - c);
	bool is_special = left > 1 && c[1] == '?';
	bool is_named = is_special && left > 3 && c[2] == '<' && c[3] != '=' && c[3] != '!';

	t->out->nr_groups += !is_special || is_named;
	return is_named ? add_name(t, c + 3, memchr(c + 3, '>', left - 3)) : 0;
}

/*
 * Finds the number and the names of capturing groups first, because \3 and \k<name> may precede
 * them.
 */
static int find_groups(struct translation *t)
{
	bool in_class = false;
	int err = 0;

	for (const char *c = t->at; c < t->end && !err; c++) {
		if (*c == '[')
			in_class = true;
		else if (*c == ']')
			in_class = false;
		else if (*c == '\\')
			c++;
		else if (*c == '(' && !in_class)
			err = count_group(t, c);
	}
	return err;
}

/*
 * Reads `source` by the grammar of ECMAScript 2018 without flags, with annex B as browsers do.
 * Writes each construct in the form that has the same meaning in PCRE2. Constructs that only PCRE2
 * has are refused. Returns -EINVAL and a sentence if the source is invalid.
 */
static int regex_translate(const char *source, struct regex_source *out, struct str *why)
{
	struct translation t = {
		.at = source, .end = source + strlen(source), .out = out, .why = why
	};
	int err = find_groups(&t);

	str_add(&out->text, "");
	while (!err && t.at < t.end)
		err = translate_next(&t);
	if (!err && t.open.nr)
		err = refuse(&t, "( without )");
	vec_fini(&t.open);
	return err;
}

static void regex_source_fini(struct regex_source *s)
{
	vec_each(name, &s->names)
		free(name->text);
	vec_fini(&s->names);
	str_fini(&s->text);
}

/*
 * Limits of one match: its steps, and the memory for backtracking. An expression that backtracks
 * endlessly stops after a fraction of a second. Ordinary ones need a few steps per character.
 */
#define MATCH_STEPS   10000000
#define MATCH_HEAP_KB (64u << 10)
#define JIT_STACK_MAX (8u << 20)
#define ASK_EVERY     8 /* matches between two looks at the clock; each may use all its steps */

struct regex {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	pcre2_jit_stack *jit_stack;
	struct regex_source source;
	u64 end_ns, nr_matches;
};

static int compile(struct regex *r, struct str *why)
{
	const u32 options = PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;
	PCRE2_SIZE at;
	int fault;

	r->code = pcre2_compile((PCRE2_SPTR)r->source.text.at, r->source.text.len, options, &fault,
				&at, NULL);
	if (r->code)
		return 0;
	char text[256];
	pcre2_get_error_message(fault, (PCRE2_UCHAR *)text, sizeof(text));
	str_add(why, text);
	return -EINVAL;
}

static void set_limits(struct regex *r)
{
	r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
	r->limits = pcre2_match_context_create(NULL);
	if (!r->match || !r->limits)
		abort(); /* out of memory, as in base/alloc */
	pcre2_set_match_limit(r->limits, MATCH_STEPS);
	pcre2_set_heap_limit(r->limits, MATCH_HEAP_KB);
	/* Without a JIT compiler for this processor the expression is interpreted. */
	if (pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE))
		return;
	r->jit_stack = pcre2_jit_stack_create(32 << 10, JIT_STACK_MAX, NULL);
	pcre2_jit_stack_assign(r->limits, NULL, r->jit_stack);
}

int regex_new(const char *source, struct regex **out, struct str *why)
{
	struct regex *r = xcalloc(1, sizeof(*r));
	int err = regex_translate(source, &r->source, why) ?: compile(r, why);

	if (err) {
		regex_free(r);
		return err;
	}
	set_limits(r);
	r->end_ns = UINT64_MAX;
	*out = r;
	return 0;
}

void regex_set_end(struct regex *r, u64 end_ns)
{
	r->end_ns = end_ns;
}

void regex_free(struct regex *r)
{
	if (!r)
		return;
	pcre2_match_data_free(r->match);
	pcre2_match_context_free(r->limits);
	pcre2_jit_stack_free(r->jit_stack);
	pcre2_code_free(r->code);
	regex_source_fini(&r->source);
	free(r);
}

/* Returns 1, 0 or -EDOM. Names are valid UTF-8, so PCRE2 need not check them for every match. */
static int match_from(struct regex *r, const char *text, size_t len, size_t start)
{
	if (r->nr_matches++ % ASK_EVERY == 0 && time_mono_ns() > r->end_ns)
		return -EDOM;
	int nr = pcre2_match(r->code, (PCRE2_SPTR)text, len, start, PCRE2_NO_UTF_CHECK, r->match,
			     r->limits);

	if (nr == PCRE2_ERROR_JIT_STACKLIMIT)
		nr = pcre2_match(r->code, (PCRE2_SPTR)text, len, start,
				 PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, r->match, r->limits);
	if (nr == PCRE2_ERROR_NOMATCH)
		return 0;
	return nr < 0 ? -EDOM : 1;
}

int regex_test(struct regex *r, const char *text, size_t len)
{
	return match_from(r, text, len, 0);
}

struct replacing {
	const struct regex *r;
	const char *text;
	size_t len;
	const size_t *at; /* start and end of each group's match */
	struct str *out;
};

static void add_group(const struct replacing *x, u32 group)
{
	size_t start = x->at[2 * group], end = x->at[2 * group + 1];

	if (start != PCRE2_UNSET && end > start)
		str_add_bytes(x->out, x->text + start, end - start);
}

/*
 * Expands $1 or $12. A number without a group is plain text. Returns how many characters it used.
 */
static size_t add_numbered(const struct replacing *x, const char *digits)
{
	u32 first = (u32)(digits[0] - '0'), both = 0;

	if (digits[1] >= '0' && digits[1] <= '9')
		both = first * 10 + (u32)(digits[1] - '0');
	if (both && both <= x->r->source.nr_groups) {
		add_group(x, both);
		return 2;
	}
	if (first && first <= x->r->source.nr_groups) {
		add_group(x, first);
		return 1;
	}
	str_add_char(x->out, '$');
	return 0;
}

/* Expands $<name>; `name` is the text after the "<". Returns how many characters it used. */
static size_t add_named(const struct replacing *x, const char *name)
{
	const char *close = strchr(name, '>');

	if (!x->r->source.names.nr || !close) {
		str_add(x->out, "$<");
		return 0;
	}
	vec_each(n, &x->r->source.names)
		if (strlen(n->text) == (size_t)(close - name) &&
		    !strncmp(n->text, name, (size_t)(close - name)))
			add_group(x, n->group);
	return (size_t)(close + 1 - name);
}

static const char *add_dollar(const struct replacing *x, const char *c)
{
	switch (*c) {
	case '$':
		str_add_char(x->out, '$');
		return c + 1;
	case '&':
		add_group(x, 0);
		return c + 1;
	case '`':
		str_add_bytes(x->out, x->text, x->at[0]);
		return c + 1;
	case '\'':
		str_add_bytes(x->out, x->text + x->at[1], x->len - x->at[1]);
		return c + 1;
	case '<':
		return c + 1 + add_named(x, c + 1);
	}
	if (*c >= '0' && *c <= '9')
		return c + add_numbered(x, c);
	str_add_char(x->out, '$');
	return c;
}

static void add_replacement(const struct replacing *x, const char *to)
{
	while (*to) {
		size_t plain = strcspn(to, "$");
		str_add_bytes(x->out, to, plain);
		to += plain;
		if (*to)
			to = add_dollar(x, to + 1);
	}
}

static size_t next_char(const char *text, size_t at, size_t len)
{
	for (at++; at < len && ((u8)text[at] & 0xc0) == 0x80;)
		at++;
	return at;
}

int regex_replace(struct regex *r, const char *text, size_t len, const char *to, struct str *out)
{
	struct replacing x = { r, text, len, pcre2_get_ovector_pointer(r->match), out };
	size_t done = 0, start = 0;
	int found = 0, any = 0;

	while (start <= len && (found = match_from(r, text, len, start)) > 0) {
		any = 1;
		str_add_bytes(out, text + done, x.at[0] - done);
		add_replacement(&x, to);
		done = x.at[1];
		start = x.at[1] > x.at[0] ? x.at[1] : next_char(text, x.at[1], len);
		/*
		 * The total of the replacements is bounded too: $` and $' may square the length of
		 * a stack.
		 */
		if (out->len > REPLACED_MAX)
			return -E2BIG;
	}
	if (start <= len && found < 0)
		return found;
	str_add_bytes(out, text + done, len - done);
	return out->len > REPLACED_MAX ? -E2BIG : any;
}
