/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript's regular expressions, matched by PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "profile/regex.h"

#include <errno.h>
#include <pcre2.h>
#include <string.h>

#include "base/time.h"
#include "profile/regex_source.h"

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
