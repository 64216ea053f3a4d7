/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options as a table, and numbers of bytes. */
#include "base/opt.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/near.h"
#include "base/str.h"
#include "base/vec.h"

#define WIDTH_MAX 36

struct table {
	const struct opt *opts;
	size_t nr;
};

static int complain(const char *word, const char *what)
{
	fprintf(stderr, "sysflame: %s: %s; see --help\n", word, what);
	return -EINVAL;
}

static const struct opt *find_long(const struct table *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->nr; i++) {
		const char *long_name = t->opts[i].long_name;
		if (long_name && strlen(long_name) == len && !strncmp(long_name, name, len))
			return &t->opts[i];
	}
	return NULL;
}

static const struct opt *find_short(const struct table *t, char name)
{
	for (size_t i = 0; i < t->nr; i++)
		if (t->opts[i].short_name == name)
			return &t->opts[i];
	return NULL;
}

static int set(const struct opt *opt, const char *word, const char *value)
{
	char *end;

	/*
	 * Refuse an empty value: it may come from an unset shell variable, and would select
	 * nothing, or everything.
	 */
	if (value && !*value && opt->type != OPT_TEXT && opt->type != OPT_MAYBE)
		return complain(word, "the value is empty");
	errno = 0;
	switch (opt->type) {
	case OPT_BOOL:
		*(bool *)opt->field = true;
		return 0;
	case OPT_STRING:
	case OPT_TEXT:
	case OPT_MAYBE:
		*(const char **)opt->field = value;
		return 0;
	case OPT_LIST:
		vec_push((struct opt_list *)opt->field, value);
		return 0;
	case OPT_PAIRS:
		vec_push((struct opt_pairs *)opt->field,
			 (struct opt_pair){ opt->long_name, value });
		return 0;
	case OPT_INT: {
		long number = strtol(value, &end, 10);
		if (end == value || *end)
			return complain(word, "takes a whole number");
		if (errno || number < INT_MIN || number > INT_MAX)
			return complain(word, "the number is out of range");
		*(int *)opt->field = (int)number;
		return 0;
	}
	case OPT_DOUBLE: {
		double number = strtod(value, &end);
		if (end == value || *end || !isfinite(number))
			return complain(word, "takes a number");
		*(double *)opt->field = number;
		return 0;
	}
	case OPT_GROUP:
		break;
	}
	return -EINVAL;
}

/* Names the most similar option. */
static int complain_unknown(const struct table *t, const char *word)
{
	auto_free char *name = xstrndup(word + 2, strcspn(word + 2, "="));
	struct near near = { .wanted = name, .max = 1 };
	auto_str struct str fault = { 0 };

	for (size_t i = 0; i < t->nr; i++)
		if (t->opts[i].long_name && t->opts[i].help)
			near_consider(&near, t->opts[i].long_name);
	str_add(&fault, "unknown option");
	if (near.names[0])
		str_addf(&fault, "; did you mean --%s?", near.names[0]);
	near_fini(&near);
	return complain(word, fault.at);
}

/* Returns the number of words of argv that were used, or a negative errno. */
static int parse_long(const struct table *t, int left, char **argv)
{
	const char *name = argv[0] + 2, *equals = strchr(name, '=');
	const struct opt *opt = find_long(t, name, equals ? (size_t)(equals - name) : strlen(name));

	if (!opt)
		return complain_unknown(t, argv[0]);
	if (opt->type == OPT_BOOL)
		return equals ? complain(argv[0], "takes no value") : set(opt, argv[0], NULL) ?: 1;
	if (equals && !equals[1] && opt->type == OPT_MAYBE)
		return complain(argv[0], "the value is empty");
	if (equals || opt->type == OPT_MAYBE)
		return set(opt, argv[0], equals ? equals + 1 : "") ?: 1;
	if (left < 2)
		return complain(argv[0], "needs a value");
	return set(opt, argv[0], argv[1]) ?: 2;
}

static int parse_short(const struct table *t, int left, char **argv)
{
	for (const char *c = argv[0] + 1; *c; c++) {
		const struct opt *opt = find_short(t, *c);
		if (!opt)
			return complain(argv[0], "unknown option");
		if (opt->type == OPT_BOOL) {
			set(opt, argv[0], NULL);
			continue;
		}
		if (c[1])
			return set(opt, argv[0], c + 1) ?: 1;
		if (left < 2)
			return complain(argv[0], "needs a value");
		return set(opt, argv[0], argv[1]) ?: 2;
	}
	return 1;
}

/* *is_end: options ended at "--". */
static int parse(const struct table *t, int argc, char **argv, bool *is_end)
{
	int i = 1;

	*is_end = false;
	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		if (!strcmp(argv[i], "--")) {
			*is_end = true;
			return i + 1;
		}
		int used = argv[i][1] == '-' ? parse_long(t, argc - i, argv + i)
					     : parse_short(t, argc - i, argv + i);
		if (used < 0)
			return used;
		i += used;
	}
	return i;
}

int opt_parse(const struct opt *opts, size_t nr_opts, int argc, char **argv)
{
	const struct table t = { opts, nr_opts };
	bool is_end;

	return parse(&t, argc, argv, &is_end);
}

/* "  -o, --output FILE" */
static int left_column(const struct opt *o, char *left, size_t size)
{
	char short_part[8] = "   ";

	if (o->short_name)
		snprintf(short_part, sizeof(short_part), "-%c%c", o->short_name,
			 o->long_name ? ',' : ' ');
	bool is_maybe = o->type == OPT_MAYBE;
	return snprintf(left, size, "  %s %s%s%s%s%s", short_part, o->long_name ? "--" : "",
			o->long_name ? o->long_name : "",
			is_maybe ? "[="
			: o->arg ? " "
				 : "",
			o->arg ? o->arg : "", is_maybe ? "]" : "");
}

void opt_help(const struct opt *opts, size_t nr_opts)
{
	char left[64];
	int width = 28; /* of the left column; a longer one pushes its text to the right */

	for (const struct opt *o = opts; o < opts + nr_opts; o++) {
		int len = o->help && o->type != OPT_GROUP ? left_column(o, left, sizeof(left)) : 0;
		if (len > width)
			width = len < WIDTH_MAX ? len : WIDTH_MAX;
	}
	for (const struct opt *o = opts; o < opts + nr_opts; o++) {
		auto_str struct str line = { 0 };
		if (o->type == OPT_GROUP)
			printf("%s%s:\n", o == opts ? "" : "\n", o->help);
		if (o->type == OPT_GROUP || !o->help)
			continue;
		left_column(o, left, sizeof(left));
		str_addf(&line, "%-*s  ", width, left);
		wrap_add(&line, o->help, line.len, line.len, WRAP_COLUMNS);
		puts(line.at);
	}
}

int opt_parse_mixed(const struct opt *opts, size_t nr_opts, int argc, char **argv)
{
	const struct table t = { opts, nr_opts };
	bool is_end = false;
	int nr_words = 0;

	for (int i = 0; i + 1 < argc;) {
		int used = is_end ? 1 : parse(&t, argc - i, argv + i, &is_end);
		if (used < 0)
			return used;
		i += used;
		if (i < argc)
			argv[nr_words++] = argv[i];
	}
	return nr_words;
}

#define BYTES_MAX (1ull << 62)

bool bytes_parse(const char *text, u64 *out)
{
	static const char units[] = "kKmMgGtT";
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	u64 number = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	unsigned shift = unit ? 10 * ((unsigned)(unit - units) / 2 + 1) : 0;
	if (errno || (*end && (!unit || end[1])) || number > BYTES_MAX >> shift)
		return false;
	*out = number << shift;
	return true;
}
