/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern of a transform: text, a regular expression between slashes, or kinds of frames. */
#pragma once

#include "profile/frames/regex.h"

struct pattern {
	const char *text; /* "" if it is an expression */
	struct regex *regex;
	u32 kinds; /* of "kind:kernel,native": a bit for each enum frame_kind; 0: by name */
	struct pattern *also; /* the other part of "/A/ & /B/", which must match, too; owned */
	char *source;         /* owned text to which this pattern and `also` point */
	bool is_local;        /* no match contains ';', therefore a frame's name alone decides */
};

/*
 * Keeps pointing at `what`, which must outlive the pattern. Returns -EINVAL and a sentence for an
 * invalid expression.
 */
int pattern_init(struct pattern *p, const char *what, struct str *why);
void pattern_fini(struct pattern *p);

/* Sets the time (time_mono_ns) after which a search fails with -EDOM. */
void pattern_set_end(struct pattern *p, u64 end_ns);

/* Whether a stack, written ";a;b;", contains a match: 1, 0 or -EDOM. */
int pattern_is_in(const struct pattern *p, const char *stack, size_t len);

/*
 * As pattern_is_in, for a frame's name. Text is searched in ";name;", an expression in the name
 * alone.
 */
int pattern_is_in_name(const struct pattern *p, const char *name);

/* Appends `text` with every match replaced. Returns whether there was a match, -EDOM or -E2BIG. */
int pattern_replace(const struct pattern *p, const char *text, size_t len, const char *to,
		    struct str *out);

/* Whether replacing by `to` can be done frame by frame. */
bool pattern_replaces_names(const struct pattern *p, const char *to);
