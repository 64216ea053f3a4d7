/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line options as one table for each subcommand. An entry points at a field of a local
 * struct. The help text, the man page and the completion are made from the table.
 */
#pragma once

#include "base/types.h"

enum opt_type {
	OPT_BOOL,   /* bool *: set to true */
	OPT_INT,    /* int *: a decimal number; nothing may follow it */
	OPT_STRING, /* const char **: points into argv */
	OPT_TEXT,   /* const char **: as OPT_STRING, but the value may be empty */
	OPT_MAYBE,  /* const char **: as OPT_STRING after "=", otherwise "" */
	OPT_DOUBLE, /* double *: a decimal number of any sign */
	OPT_LIST,   /* struct opt_list *: the value is added; the option may be repeated */
	OPT_PAIRS,  /* struct opt_pairs *: the same for several options, whose order matters */
	OPT_GROUP,  /* no option: `help` is the heading of those that follow */
};

struct opt_list {
	const char **at; /* points into argv; the array is the user's to free (vec_fini) */
	size_t nr, cap;
};

/* The values of several options in the order in which they were given. */
struct opt_pair {
	const char *option; /* its long name */
	const char *value;  /* points into argv */
};
struct opt_pairs {
	struct opt_pair *at; /* the array is the user's to free (vec_fini) */
	size_t nr, cap;
};

struct opt {
	char short_name;       /* 0 for none */
	const char *long_name; /* NULL for none */
	enum opt_type type;
	void *field;
	const char *arg; /* the argument's name in the help text; NULL for OPT_BOOL */
	const char
		*help; /* a phrase, lower case, no full stop; NULL for an alias that is not shown */
};

#define OPT_GROUP_OF(heading)                           \
	{                                               \
		0, NULL, OPT_GROUP, NULL, NULL, heading \
	}

/*
 * Reads argv[1..argc) up to the first word that is not an option, or past "--". Returns the index
 * of the first word left, or -EINVAL after printing the wrong word and the reason to standard
 * error. Accepts `--opt=value`, `--opt value`, `-ovalue`, `-o value` and bundled flags (`-qv`).
 * Refuses an empty value, except for OPT_TEXT.
 */
int opt_parse(const struct opt *opts, size_t nr_opts, int argc, char **argv);

/*
 * As opt_parse, but options may stand between and after other words. Moves the other words to the
 * front of argv and returns their number, or -EINVAL.
 */
int opt_parse_mixed(const struct opt *opts, size_t nr_opts, int argc, char **argv);

/* Prints the table as help text in two columns to standard output. */
void opt_help(const struct opt *opts, size_t nr_opts);

/*
 * Parses "524288", "512k", "1m", "2g" or "1t", also with a capital. Returns false if the text is
 * something else or above 2^62.
 */
bool bytes_parse(const char *text, u64 *out);
