/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text from other processes safe to print: valid UTF-8 without control characters. */
#pragma once

#include "base/str.h"
#include "base/types.h"

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
