/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript's regular expressions as PCRE2 writes them. */
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
 * Reads `source` by the grammar of ECMAScript 2018 without flags (with its annex B, as browsers do)
 * and writes each construct so that PCRE2 takes it to mean the same; so nothing that only PCRE2
 * knows gets through. -EINVAL and a sentence if it is wrong.
 */
int regex_translate(const char *source, struct regex_source *out, struct str *why);
void regex_source_fini(struct regex_source *s);

#define auto_regex_source __attribute__((cleanup(regex_source_fini)))
