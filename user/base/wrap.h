/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps texts for people at words. */
#pragma once

#include "base/str.h"

/* The columns of help texts and tables for people, and of a terminal of unknown width. */
#define WRAP_COLUMNS 80

/* The ending of a noun behind a number: "1 JVM", "2 JVMs". */
static inline const char *plural(u64 nr)
{
	return nr == 1 ? "" : "s";
}

/* The columns of the terminal `fd`. Files and pipes get WRAP_COLUMNS: a stable form. */
size_t wrap_columns(int fd);

/*
 * Appends `text`, which begins in column `at` of its line, in lines of at most `columns`. The later
 * lines begin with `indent` blanks. A longer word stays whole. Blanks inside a line are kept.
 */
void wrap_add(struct str *out, const char *text, size_t at, size_t indent, size_t columns);

/* The column behind the first wide gap, where the later lines of a table's row begin; else 2. */
size_t wrap_hanging(const char *text);
