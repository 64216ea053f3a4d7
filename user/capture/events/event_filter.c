/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters on the arguments of tracepoints: the parser, and the order of the tests. The grammar is
 * that of kernel/trace/trace_events_filter.c.
 */
#include "capture/events/event_filter.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/near.h"
#include "base/types.h"
#include "filter_abi.h"

/* The kernel writes the address of the registers over the first fields before BPF programs run. */
#define OVERWRITTEN 8

/* A system call's record has its number and six arguments for BPF programs, and no more. */
#define SYSCALL_BYTES 64

/* Whether the type has an array of characters, or a pointer to them (kernel/trace/trace_events.c).
 */
static enum filter_source source_of(const char *type, const char *array)
{
	bool is_char = strstr(type, "char");

	if (!is_char)
		return FILTER_NUMBER;
	if (!strncmp(type, "__data_loc", strlen("__data_loc")))
		return FILTER_LOC;
	if (!strncmp(type, "__rel_loc", strlen("__rel_loc")))
		return FILTER_REL_LOC;
	if (array)
		return FILTER_ARRAY;
	return !strcmp(type, "char *") || !strcmp(type, "const char *") ? FILTER_POINTER
									: FILTER_NUMBER;
}

/*
 * Splits a declaration such as "const char * name" or "char comm[16]". `type` keeps the type.
 * Returns the name, or NULL if the declaration has no name.
 */
static char *split_name(char *type, char **array)
{
	char *end = type + strlen(type), *name;

	*array = strchr(type, '[');
	if (*array && (*array)[1] == ']') /* "__data_loc char[] name" */
		*array = NULL;
	else if (*array)
		end = *array;
	for (name = end; name > type && (isalnum((unsigned char)name[-1]) || name[-1] == '_');)
		name--;
	if (name == end || name == type)
		return NULL;
	*end = '\0';
	for (char *c = name; c > type && c[-1] == ' ';)
		*--c = '\0';
	return name;
}

/* Whether BPF programs can read the field. */
static bool is_readable(const struct filter_field *f, bool is_syscall)
{
	if (f->offset < OVERWRITTEN)
		return f->source == FILTER_TID;
	return !is_syscall || (f->source != FILTER_LOC && f->source != FILTER_REL_LOC &&
			       f->offset + f->size <= SYSCALL_BYTES);
}

static bool has_number_size(u16 size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void add_line(char *line, bool is_syscall, struct filter_fields *out)
{
	unsigned offset, size, is_signed;
	char *type = strstr(line, "field:"), *array, *name;
	char *end = type ? strchr(type, ';') : NULL;

	if (!end ||
	    sscanf(end, "; offset:%u; size:%u; signed:%u;", &offset, &size, &is_signed) != 3 ||
	    offset > UINT16_MAX || size > UINT16_MAX)
		return;
	*end = '\0';
	type += strlen("field:");
	name = split_name(type, &array);
	if (!name)
		return;
	struct filter_field f = {
		.offset = (u16)offset,
		.size = (u16)size,
		.is_signed = is_signed,
		.source = source_of(type, array),
	};
	if (!strcmp(name, "common_pid"))
		f.source = FILTER_TID;
	f.is_text = f.source != FILTER_NUMBER && f.source != FILTER_TID;
	f.is_array = !f.is_text && !has_number_size(f.size);
	if (!is_readable(&f, is_syscall))
		return;
	f.name = xstrdup(name);
	vec_push(&out->list, f);
}

static void add_own(struct filter_fields *out, const char *name, enum filter_source source)
{
	vec_push(&out->list, (struct filter_field){ .name = xstrdup(name),
						    .source = source,
						    .is_text = source == FILTER_COMM,
						    .is_signed = source == FILTER_CPU,
						    .size = 4 });
}

void filter_fields_parse(const char *format, bool is_syscall, struct filter_fields *out)
{
	auto_free char *copy = xstrdup(format);

	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));)
		add_line(line, is_syscall, out);
	add_own(out, "CPU", FILTER_CPU);
	add_own(out, "cpu", FILTER_CPU);
	add_own(out, "COMM", FILTER_COMM);
	add_own(out, "comm", FILTER_COMM);
}

void filter_fields_fini(struct filter_fields *all)
{
	vec_each(f, &all->list)
		free(f->name);
	vec_fini(&all->list);
}

const struct filter_field *filter_fields_find(const struct filter_fields *all, const char *name,
					      size_t len)
{
	vec_each(f, &all->list)
		if (strlen(f->name) == len && !strncmp(f->name, name, len))
			return f;
	return NULL;
}

void filter_fields_suggest(const struct filter_fields *all, const char *name, struct str *why)
{
	struct near near = { .wanted = name, .max = 3 };

	vec_each(f, &all->list)
		near_consider(&near, f->name);
	for (size_t i = 0; i < near.max && near.names[i]; i++)
		str_addf(why, "%s%s", i ? ", " : "; near names: ", near.names[i]);
	near_fini(&near);
}

static void accept(struct filter_pattern *p, u8 c)
{
	p->accept[c] |= 1ull << p->nr;
}

static void accept_all(struct filter_pattern *p)
{
	for (u32 c = 1; c < 256; c++)
		accept(p, (u8)c);
}

/* A string to which the text must be equal. -E2BIG if it is longer than FILTER_ELEMENTS. */
static int filter_pattern_equal(const char *text, size_t len, struct filter_pattern *out)
{
	*out = (struct filter_pattern){ 0 };
	if (len > FILTER_ELEMENTS)
		return -E2BIG;
	for (; out->nr < len; out->nr++)
		accept(out, (u8)text[out->nr]);
	return 0;
}

/* Reads "[a-c]" or "[!a-c]" from its bracket on. Returns its length, 0 if it is not closed. */
static size_t accept_class(struct filter_pattern *p, const char *text, size_t len)
{
	bool is_not = len > 1 && text[1] == '!', is_in[256] = { false };
	size_t i = 1 + is_not, first = i;

	for (; i < len && (text[i] != ']' || i == first); i++) {
		u8 from = (u8)text[i], to = from;
		if (i + 2 < len && text[i + 1] == '-' && text[i + 2] != ']') {
			to = (u8)text[i + 2];
			i += 2;
		}
		for (u32 c = from; c <= to; c++)
			is_in[c] = true;
	}
	if (i >= len)
		return 0;
	for (u32 c = 1; c < 256; c++)
		if (is_in[c] != is_not)
			accept(p, (u8)c);
	return i + 1;
}

/*
 * A pattern as in the kernel's glob_match: star, question mark, [a-c], [!a-c], and \ before any of
 * them. -EINVAL if a bracket is not closed, -E2BIG as above.
 */
static int filter_pattern_glob(const char *text, size_t len, struct filter_pattern *out)
{
	*out = (struct filter_pattern){ 0 };
	for (size_t i = 0; i < len;) {
		size_t used = 1;
		if (text[i] == '*') {
			out->stars |= 1ull << out->nr;
			i++;
			continue;
		}
		if (out->nr == FILTER_ELEMENTS)
			return -E2BIG;
		if (text[i] == '?') {
			accept_all(out);
		} else if (text[i] == '[') {
			used = accept_class(out, text + i, len - i);
			if (!used)
				return -EINVAL;
		} else {
			used = text[i] == '\\' && i + 1 < len ? 2 : 1;
			accept(out, (u8)text[i + used - 1]);
		}
		out->nr++;
		i += used;
	}
	return 0;
}

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

/* The value cut to the width of the field, because the kernel compares at that width. */
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

/* Takes the operator `text` if it comes next. */
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

/*
 * Sets the next test after each test of the node, if it holds and if not. The number of nodes is
 * bounded, and so is the depth of the recursion.
 */
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
