/* SPDX-License-Identifier: Apache-2.0 */
/* Translates JavaScript's regular expressions to PCRE2's syntax. */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct group_name {
	char *text;
	u32 group;
};

struct regex_source {
	struct str text; /* for pcre2_compile */
	u32 nr_groups;
	VEC(struct group_name) names;
};

/*
 * Reads `source` by the grammar of ECMAScript 2018 without flags, with annex B as browsers do.
 * Writes each construct in the form that has the same meaning in PCRE2. Constructs that only PCRE2
 * has are refused. Returns -EINVAL and a sentence if the source is invalid.
 */
int regex_translate(const char *source, struct regex_source *out, struct str *why);
void regex_source_fini(struct regex_source *s);
