/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text: a growable byte string, text from other processes made safe to print, and lines wrapped at
 * words.
 */
#pragma once

#include "base/types.h"

/*
 * A growable byte string. `at` always ends in a NUL that `len` does not count. After the first str_
 * call `at` is never NULL. {0} is a valid empty string.
 */
struct str {
	char *at;
	size_t len, cap;
};

void str_add(struct str *s, const char *text);
void str_add_bytes(struct str *s, const void *bytes, size_t len);
void str_add_char(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_clear(struct str *s);

/* Returns the bytes, which the caller frees. `s` is empty afterwards. */
char *str_take(struct str *s);
void str_fini(struct str *s);

#define auto_str __attribute__((cleanup(str_fini)))

/*
 * Copies `text` into a field of `size` bytes. Cuts it if necessary and always ends it with a NUL.
 */
void copy_text(char *field, size_t size, const char *text);

/*
 * Appends `text` as a part of a page's address: all bytes but letters, digits and "-_.~" become
 * %XX.
 */
void address_add(struct str *address, const char *text);

/* Text from other processes is made safe to print: valid UTF-8 without control characters. */

/*
 * Whether `text` is valid UTF-8 (RFC 3629) of at most `max` bytes, without C0 controls, DEL and C1
 * controls.
 */
bool utf8_is_clean(const char *text, size_t max);

/*
 * Appends `text` with every invalid byte or control character replaced by U+FFFD. Cuts it at a
 * character border and adds at most `max` bytes.
 */
void utf8_clean(struct str *out, const char *text, size_t max);

/* `text` itself if it is clean and not too long, else a cleaned copy in `storage`. */
const char *utf8_cleaned(const char *text, size_t max, struct str *storage);

/* The width of help texts and tables, and the assumed width of a terminal of unknown width. */
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
