/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles as one: what weighs how much before and after. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/* Which value types are compared: indexes. */
struct diff_types {
	u32 before, after;
};

/*
 * Chooses what to compare: `event` ("NAME" or "NAME/UNIT"), or if it is NULL the first type that
 * both have; samples before others, but NAME before NAME-samples. Appends to `others` the types
 * that both have and that are left out, "NAME/UNIT, NAME/UNIT", without NAME-samples. -EINVAL and a
 * sentence in `why` if there is nothing to compare.
 */
int diff_choose(const struct profile *before, const struct profile *after, const char *event,
		struct diff_types *out, struct str *others, struct str *why);

/*
 * Fills the new profile `out` with the stacks of both under two value types, role ROLE_AFTER first.
 * The weights are those of the files, not scaled; a stack that is in one of them only is kept. If
 * the weights are no samples, and of both the numbers of samples are known (profile/count.h), these
 * follow as two more types. Process frames ("java-123") that are not in both lose their number.
 */
void profile_diff(const struct profile *before, const struct profile *after,
		  const struct diff_types *types, struct profile *out);

/* Whether its types are those of one comparison, and nothing else. */
bool profile_is_diff(const struct profile *p);

/* Takes the roles of what is no comparison, as it was merged with something else, say. */
void diff_settle(struct profile *p);

/* What formats call a role: "after", "nr_after", ..; "" for none. `name` may be NULL. */
const char *diff_role_name(enum value_role role);
enum value_role diff_role_of(const char *name);

/* Whether the type is that of weights before; those after are the type in front of it. */
bool diff_is_before(const struct profile *p, u32 type);

/* What a type of a comparison is called without "before" or "after", for the caller to free. */
char *diff_type_name(const struct profile *p, u32 type);

/*
 * The types of `t` after and before, added if there are none, with their roles: those of weights,
 * or of the numbers of samples that these are of.
 */
struct diff_types diff_find_types(struct profile *p, const struct value_type *t, bool are_counts);

/* Whether weights are compared as they are, in text and at first in the page, not their shares. */
bool diff_is_by_counts(const struct profile *p);
void diff_by_counts(struct profile *p);

/* Whether the comparison tells of how many samples its weights are. */
bool diff_has_counts(const struct profile *p);

/* The types that have the numbers of samples, those of the weights if these are samples. */
struct diff_types diff_counts(const struct profile *p);

/* A weight and the number of samples of which it is. */
struct sampled {
	u64 weight, nr;
};

/*
 * Whether weights differ by more than chance makes them: two standard deviations of Poisson counts
 * whose samples weigh about the same, `scale` after's total over before's.
 */
bool diff_is_significant(struct sampled before, struct sampled after, double scale);
