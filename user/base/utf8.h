/* SPDX-License-Identifier: Apache-2.0 */
/* Text that came from elsewhere, made safe to show: valid UTF-8 without control characters. */
#pragma once

#include "base/str.h"
#include "base/types.h"

/* Whether `text` is valid UTF-8 (RFC 3629) of at most `max` bytes, without C0, DEL and C1. */
bool utf8_is_clean(const char *text, size_t max);

/*
 * Appends `text` with every offending byte or control character replaced by U+FFFD, cut at a
 * character border so that at most `max` bytes are added.
 */
void utf8_clean(struct str *out, const char *text, size_t max);
