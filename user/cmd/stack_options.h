/* SPDX-License-Identifier: Apache-2.0 */
/* -I, -X and --reverse: choose stacks and turn them around before they are written or printed. */
#pragma once

#include "base/opt.h"
#include "export/export.h"
#include "profile/profile.h"

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
