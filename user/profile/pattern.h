/* SPDX-License-Identifier: Apache-2.0 */
/* What a transform looks for: text, or a regular expression between slashes. */
#pragma once

#include "profile/regex.h"

struct pattern {
	const char *text; /* "" if it is an expression */
	struct regex *regex;
	bool is_local; /* a match shows without the frames around it: none takes a ';' */
};

/* `what` must outlive the pattern. -EINVAL and a sentence for a wrong expression. */
int pattern_init(struct pattern *p, const char *what, struct str *why);
void pattern_fini(struct pattern *p);

/* When looking for it has taken too long (time_mono_ns). */
void pattern_set_end(struct pattern *p, u64 end_ns);

/* Whether a stack, written ";a;b;", has it: 1, 0 or -EDOM. */
int pattern_is_in(const struct pattern *p, const char *stack, size_t len);

/* The same for a frame's name: text is looked for in ";name;", an expression in the name. */
int pattern_is_in_name(const struct pattern *p, const char *name);

/* Appends `text` with every occurrence replaced; whether there was one, -EDOM or -E2BIG. */
int pattern_replace(const struct pattern *p, const char *text, size_t len, const char *to,
		    struct str *out);

/* Whether replacing by `to` can be done frame by frame. */
bool pattern_replaces_names(const struct pattern *p, const char *to);
