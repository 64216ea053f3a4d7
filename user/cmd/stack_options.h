/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -I, -X, --reverse, --transform and --raw-names: choose, turn around, change and name stacks
 * before they are written or printed.
 */
#pragma once

#include "base/opt.h"
#include "export/export.h"
#include "profile/profile.h"
#include "profile/transform.h"

struct stack_options {
	struct opt_list include, exclude; /* patterns (profile/stack_filter.h) */
	bool is_reversed;
};

#define STACK_OPTS(o)                                                                             \
	{ 'I',       "include-stack",                                                             \
	  OPT_LIST,  &(o)->include,                                                               \
	  "PATTERN", "keep only stacks with a frame of this name; * at an end is any text" },     \
		{ 'X',           "exclude-stack", OPT_LIST,                                       \
		  &(o)->exclude, "PATTERN",       "leave out stacks with a frame of this name" }, \
	{                                                                                         \
		0, "reverse", OPT_BOOL, &(o)->is_reversed, NULL,                                  \
			"begin stacks with the code that ran; callers follow (html: bottom-up)"   \
	}

/*
 * Logs an error and returns -EINVAL for a pattern that every frame matches, and for --reverse with
 * a format that is not a picture or list of stacks. `f` may be NULL.
 */
int stack_options_check(const struct stack_options *o, const struct format *f);

/* Applies -I and -X, and notes in the profile how much they left out. */
void stack_options_filter(const struct stack_options *o, struct profile *p);

/* Applies --reverse. A page gets all stacks as they are and opens bottom-up. */
void stack_options_turn(const struct stack_options *o, const struct format *f, struct profile *p);
void stack_options_fini(struct stack_options *o);

#define TRANSFORM_OPT(words)                                                     \
	{                                                                        \
		0, "transform", OPT_LIST, words, "T",                            \
			"change stacks: \"remove x\", \"replace /a+/ -> b\", .." \
	}

#define RAW_NAMES_OPT(flag)                                                             \
	{                                                                               \
		0, "raw-names", OPT_BOOL, flag, NULL, "write names as the JVM has them" \
	}

/* Logs an error and returns -EINVAL if a transform cannot be parsed. */
int transforming_parse(const struct opt_list *words, struct transforms *out);

/*
 * Applies the transforms before the profile is written as `f`, or printed if `f` is NULL. A page
 * gets the list instead and applies it itself, so the reader can change it. Logs the transform
 * that failed and returns a negative errno. Warns if no stack is left.
 */
int transforming_apply(const struct transforms *list, const struct format *f, struct profile *p);
