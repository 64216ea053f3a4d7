/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions of JavaScript, matched by PCRE2: what the page finds in a name, the program
 * finds too. docs/transforms.md lists where they differ.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"

#define REPLACED_MAX (64u << 20)

struct regex;

/* -EINVAL and a sentence if `source`, as between the slashes, is no such expression. */
int regex_new(const char *source, struct regex **out, struct str *why);
void regex_free(struct regex *r);

/* From then on (time_mono_ns) every search is one that takes too long. */
void regex_set_end(struct regex *r, u64 end_ns);

/* Whether it matches anywhere in `text`, which must be UTF-8; -EDOM if finding out takes too long.
 */
int regex_test(struct regex *r, const char *text, size_t len);

/*
 * Appends `text` with every match replaced by `to`, in which $1, $&, $<name>, ... stand for what
 * was matched. Returns whether there was a match, -EDOM, or -E2BIG if that makes more than
 * REPLACED_MAX bytes.
 */
int regex_replace(struct regex *r, const char *text, size_t len, const char *to, struct str *out);
