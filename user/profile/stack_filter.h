/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses stacks by the names of their frames, and turns stacks around. */
#pragma once

#include "profile/profile.h"

/*
 * A pattern is a name. A star at its begin or end stands for any text. '/' also stands for '.', and
 * the line and the signature of a method are not compared. Levels for processes and threads have no
 * name here.
 */
struct stack_filter {
	const char *const *include, *const *exclude;
	size_t nr_include, nr_exclude;
};

bool stack_pattern_matches(const char *pattern, const char *name);

/*
 * Keeps the stacks that match one of `include`, if there are any, and none of `exclude`. Returns
 * the samples that are left out, or else their weight of the first type.
 */
u64 profile_filter_stacks(struct profile *p, const struct stack_filter *f);

/* Turns every stack around, below the levels for processes and threads. */
void profile_reverse(struct profile *p);
