/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable byte string. `at` always ends in a NUL that `len` does not count. After the first str_
 * call `at` is never NULL. {0} is a valid empty string.
 */
#pragma once

#include "base/types.h"

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
