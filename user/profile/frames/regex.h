/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JavaScript's regular expressions, matched by PCRE2, to find in names what the page finds.
 * docs/transforms.md lists the differences.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"

#define REPLACED_MAX (64u << 20)

struct regex;

/*
 * Compiles `source`, the text between the slashes. Returns -EINVAL and a sentence if it is invalid.
 */
int regex_new(const char *source, struct regex **out, struct str *why);
void regex_free(struct regex *r);

/* Sets the time (time_mono_ns) after which every search fails with -EDOM. */
void regex_set_end(struct regex *r, u64 end_ns);

/*
 * Whether the expression matches anywhere in `text`, which must be UTF-8. Returns -EDOM if the
 * search takes too long.
 */
int regex_test(struct regex *r, const char *text, size_t len);

/*
 * Appends `text` with every match replaced by `to`, in which $1, $&, $<name>, ... stand for parts
 * of the match. Returns whether there was a match, -EDOM, or -E2BIG if the result exceeds
 * REPLACED_MAX bytes.
 */
int regex_replace(struct regex *r, const char *text, size_t len, const char *to, struct str *out);
