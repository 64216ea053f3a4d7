/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters on the arguments of tracepoints: the parser, and the order of the tests. The grammar is
 * that of kernel/trace/trace_events_filter.c.
 */
#include "capture/events/event_filter.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "capture/events/filter_pattern.h"

#define DEPTH_MAX 32
#define NODES     (4 * FILTER_TESTS + DEPTH_MAX)

enum node_kind {
	NODE_TEST,
	NODE_AND,
	NODE_OR,
	NODE_NOT,
};

/* A part of the text. The tests are numbered in the order of the text. */
struct node {
	enum node_kind kind;
	u8 test; /* the first one in it */
	int left, right;
};

struct parser {
	const char *text, *at;
	const struct filter_fields *fields;
	struct str *why;
	struct event_filter *out;
	u32 nr_tests;
	int nr_nodes, depth;
	struct node nodes[NODES];
};

static int parse_or(struct parser *p);

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static int expected(struct parser *p, const char *wanted)
{
	if (*p->at)
		str_addf(p->why, "%s is expected at '%s'", wanted, p->at);
	else
		str_addf(p->why, "%s is expected at the end", wanted);
	return -EINVAL;
}

static int add_node(struct parser *p, enum node_kind kind, int left, int right)
{
	if (p->nr_nodes == NODES) {
		str_addf(p->why, "it has too many parts");
		return -EINVAL;
	}
	p->nodes[p->nr_nodes] = (struct node){ kind, (u8)p->nr_tests, left, right };
	if (kind != NODE_TEST)
		p->nodes[p->nr_nodes].test = p->nodes[left].test;
	return p->nr_nodes++;
}

static size_t word_len(const char *at)
{
	size_t len = 0;

	while (isalnum((unsigned char)at[len]) || at[len] == '_')
		len++;
	return len;
}

/* The suffix .ustring: the string is in the memory of the process. */
static int parse_field(struct parser *p, struct filter_test *t, const struct filter_field **out)
{
	static const char suffix[] = ".ustring";
	size_t len = word_len(p->at);
	auto_free char *name = xstrndup(p->at, len);

	if (!len)
		return expected(p, "the name of a field");
	const struct filter_field *f = filter_fields_find(p->fields, p->at, len);
	if (!f || f->is_array) {
		str_addf(p->why,
			 f ? "the field %s has several numbers and cannot be compared"
			   : "the tracepoint has no field %s that can be compared",
			 name);
		if (!f)
			filter_fields_suggest(p->fields, name, p->why);
		return -EINVAL;
	}
	*t = (struct filter_test){
		.offset = f->offset,
		.size = f->size,
		.source = (u8)f->source,
		.is_signed = f->is_signed,
	};
	p->at += len;
	if (!strncmp(p->at, suffix, strlen(suffix)) && f->source == FILTER_POINTER) {
		t->source = FILTER_USER_POINTER;
		p->at += strlen(suffix);
	}
	*out = f;
	return 0;
}

struct operator
{
	const char *text; /* longer ones first */
	enum filter_op op;
	bool is_not;
	bool for_text, for_number;
};

static const struct operator operators[] = {
	{ "==", FILTER_EQUAL, false, true, true },
	{ "!=", FILTER_EQUAL, true, true, true },
	{ "<=", FILTER_LESS_EQUAL, false, false, true },
	{ ">=", FILTER_LESS, true, false, true },
	{ "<", FILTER_LESS, false, false, true },
	{ ">", FILTER_LESS_EQUAL, true, false, true },
	{ "&", FILTER_AND, false, false, true },
	{ "~", FILTER_MATCH, false, true, false },
};

/* A single & that is not followed by another one. */
static const struct operator* parse_operator(struct parser *p)
{
	skip_blanks(p);
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		const struct operator* o = & operators[i];
		size_t len = strlen(o->text);
		if (strncmp(p->at, o->text, len) || (o->op == FILTER_AND && p->at[1] == '&'))
			continue;
		p->at += len;
		skip_blanks(p);
		return o;
	}
	return NULL;
}

/* As the kernel compares: at the width of the field. */
static u64 narrowed(const struct filter_test *t, u64 value)
{
	u32 unused = t->size < 8 ? 64 - 8 * t->size : 0;

	return t->is_signed ? (u64)((s64)(value << unused) >> unused) : value << unused >> unused;
}

static int parse_number(struct parser *p, struct filter_test *t)
{
	char *end;

	if (!isdigit((unsigned char)*p->at) && *p->at != '-')
		return expected(p, "a number");
	if (*p->at == '-' && !t->is_signed)
		return expected(p, "a number from 0 on");
	errno = 0;
	u64 value = t->is_signed ? (u64)strtoll(p->at, &end, 0) : strtoull(p->at, &end, 0);
	if (end == p->at || errno || word_len(end))
		return expected(p, "a number in range");
	t->value = narrowed(t, value);
	p->at = end;
	return 0;
}

static int add_pattern(struct parser *p, struct filter_test *t, bool is_glob, const char *text,
		       size_t len)
{
	struct event_filter *f = p->out;

	if (f->nr_patterns == FILTER_PATTERNS) {
		str_addf(p->why, "it has more than %d strings", FILTER_PATTERNS);
		return -EINVAL;
	}
	struct filter_pattern *pattern = &f->patterns[f->nr_patterns];
	if (is_glob && len && *text == '!') {
		t->is_not = !t->is_not;
		text++;
		len--;
	}
	int err = is_glob ? filter_pattern_glob(text, len, pattern)
			  : filter_pattern_equal(text, len, pattern);
	if (err == -E2BIG)
		str_addf(p->why, "the string '%.*s' has more than %d characters", (int)len, text,
			 FILTER_ELEMENTS);
	else if (err)
		str_addf(p->why, "a bracket is not closed in '%.*s'", (int)len, text);
	t->op = FILTER_MATCH;
	t->pattern = (u8)f->nr_patterns++;
	return err;
}

static int parse_text(struct parser *p, struct filter_test *t, const struct operator* o)
{
	char quote = *p->at;
	const char *end = quote == '"' || quote == '\'' ? strchr(p->at + 1, quote) : NULL;

	if (!end)
		return expected(p, "a string in quotes");
	int err = add_pattern(p, t, o->op == FILTER_MATCH, p->at + 1, (size_t)(end - p->at - 1));
	p->at = end + 1;
	return err;
}

static int parse_test(struct parser *p)
{
	const struct filter_field *field = NULL;
	struct filter_test t;

	int err = parse_field(p, &t, &field);
	if (err)
		return err;
	bool is_text = field->is_text;
	const struct operator* o = parse_operator(p);
	if (!o)
		return expected(p, "one of == != < <= > >= & ~");
	if (is_text && isdigit((unsigned char)*p->at) && field->source == FILTER_POINTER) {
		is_text = false; /* the address */
		t.source = FILTER_NUMBER;
	}
	if (is_text ? !o->for_text : !o->for_number) {
		str_addf(p->why, "%s does not apply to %s, which is a %s", o->text, field->name,
			 is_text ? "string: use ==, != or ~"
				 : "number: use ==, !=, <, <=, >, >= or &");
		return -EINVAL;
	}
	t.op = (u8)o->op;
	t.is_not = o->is_not;
	err = is_text ? parse_text(p, &t, o) : parse_number(p, &t);
	if (err)
		return err;
	if (p->nr_tests == FILTER_TESTS) {
		str_addf(p->why, "it has more than %d comparisons", FILTER_TESTS);
		return -EINVAL;
	}
	int node = add_node(p, NODE_TEST, -1, -1);
	if (node >= 0)
		p->out->filter.tests[p->nr_tests++] = t;
	return node;
}

static int parse_one(struct parser *p)
{
	int node;

	skip_blanks(p);
	if (*p->at != '!' && *p->at != '(')
		return parse_test(p);
	if (++p->depth > DEPTH_MAX) {
		str_addf(p->why, "its parentheses are too deep");
		return -EINVAL;
	}
	if (*p->at++ == '!') {
		node = parse_one(p);
		node = node < 0 ? node : add_node(p, NODE_NOT, node, -1);
	} else {
		node = parse_or(p);
		skip_blanks(p);
		if (node >= 0 && *p->at++ != ')') {
			p->at--;
			return expected(p, "&&, || or )");
		}
	}
	p->depth--;
	return node;
}

/* Takes that operator if it comes next. */
static bool takes(struct parser *p, const char *text)
{
	skip_blanks(p);
	if (strncmp(p->at, text, strlen(text)) != 0)
		return false;
	p->at += strlen(text);
	return true;
}

static int parse_and(struct parser *p)
{
	int node = parse_one(p);

	while (node >= 0 && takes(p, "&&")) {
		int right = parse_one(p);
		node = right < 0 ? right : add_node(p, NODE_AND, node, right);
	}
	return node;
}

static int parse_or(struct parser *p)
{
	int node = parse_and(p);

	while (node >= 0 && takes(p, "||")) {
		int right = parse_and(p);
		node = right < 0 ? right : add_node(p, NODE_OR, node, right);
	}
	return node;
}

/* Sets where the tests of the node lead to. The nodes are bounded, and with them the depth. */
static void link_tests(const struct parser *p, int node, u8 if_true, u8 if_false)
{
	const struct node *n = &p->nodes[node];
	struct filter_test *t = &p->out->filter.tests[n->test];

	switch (n->kind) {
	case NODE_TEST:
		t->if_true = if_true;
		t->if_false = if_false;
		break;
	case NODE_NOT:
		link_tests(p, n->left, if_false, if_true);
		break;
	case NODE_AND:
		link_tests(p, n->left, p->nodes[n->right].test, if_false);
		link_tests(p, n->right, if_true, if_false);
		break;
	case NODE_OR:
		link_tests(p, n->left, if_true, p->nodes[n->right].test);
		link_tests(p, n->right, if_true, if_false);
		break;
	}
}

int event_filter_parse(const char *text, const struct filter_fields *fields,
		       struct event_filter **out, struct str *why)
{
	struct event_filter *f = xcalloc(1, sizeof(*f));
	struct parser p = { .text = text, .at = text, .fields = fields, .why = why, .out = f };

	int node = parse_or(&p);
	skip_blanks(&p);
	if (node >= 0 && *p.at)
		node = expected(&p, "&& or ||");
	if (node < 0) {
		event_filter_free(f);
		return -EINVAL;
	}
	link_tests(&p, node, FILTER_PASS, FILTER_DROP);
	f->text = xstrdup(text);
	*out = f;
	return 0;
}

void event_filter_free(struct event_filter *f)
{
	if (f)
		free(f->text);
	free(f);
}
