/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison: one profile that holds two others, with weights before and after. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/* The indexes of the compared value types. */
struct diff_types {
	u32 before, after;
};

/*
 * Chooses what to compare: `event` ("NAME" or "NAME/UNIT"), or the first type that both have if
 * `event` is NULL. Samples come before other types, but NAME before NAME-samples. Appends the other
 * types that both have to `others` as "NAME/UNIT, NAME/UNIT", without NAME-samples. Returns -EINVAL
 * and a sentence in `why` if there is nothing to compare.
 */
int diff_choose(const struct profile *before, const struct profile *after, const char *event,
		struct diff_types *out, struct str *others, struct str *why);

/*
 * Fills the new profile `out` with the stacks of both under two value types, role VALUE_AFTER
 * first. The weights are those of the files, not scaled; a stack of only one file is kept. If the
 * weights are not samples and both have numbers of samples (profile/count.h), these become two more
 * types. A process frame ("java-123") that only one file has loses its number.
 */
void profile_diff(const struct profile *before, const struct profile *after,
		  const struct diff_types *types, struct profile *out);

/* Whether the types are those of exactly one comparison. */
bool profile_is_diff(const struct profile *p);

/*
 * Removes the roles if the profile is not a comparison, for example after it was merged with
 * another profile.
 */
void diff_settle(struct profile *p);

/*
 * The name of a role in file formats: "after", "nr_after", ..; "" for VALUE_NONE. `name` may be
 * NULL.
 */
const char *diff_role_name(enum value_role role);
enum value_role diff_role_of(const char *name);

/* Whether the type has the weights before. The type just in front of it has the weights after. */
bool diff_is_before(const struct profile *p, u32 type);

/* The name of a comparison's type without "before" or "after". The caller frees it. */
char *diff_type_name(const struct profile *p, u32 type);

/*
 * Finds the types of `t` after and before, or adds them. Gives them their roles: of weights, or of
 * numbers of samples if `are_counts`.
 */
struct diff_types diff_find_types(struct profile *p, const struct value_type *t, bool are_counts);

/*
 * Whether text compares absolute weights instead of shares; the page begins with the same choice.
 */
bool diff_is_by_counts(const struct profile *p);
void diff_by_counts(struct profile *p);

/* Whether the comparison has the numbers of samples behind its weights. */
bool diff_has_counts(const struct profile *p);

/* The types with the numbers of samples; the types of the weights if these are samples. */
struct diff_types diff_counts(const struct profile *p);

/* A weight and the number of samples behind it. */
struct sampled {
	u64 weight, nr;
};

/* The two sides of a comparison: of a part, or of the whole. */
struct sampled_pair {
	struct sampled before, after;
};

/*
 * By how many standard deviations of chance a part of the whole differs: 0 without a change,
 * INFINITY if chance cannot explain it. `whole` is NULL to compare absolute weights: their samples
 * are Poisson counts. Shares of a whole are binomial, so that a part and all the rest get the same
 * answer. page/diff.js has the same arithmetic.
 */
double diff_sigmas(const struct sampled_pair *part, const struct sampled_pair *whole);

/*
 * The least number of standard deviations that counts as a change where all of `sigmas` were
 * compared: the procedure of Benjamini and Hochberg (1995) at 5 %. Of the changes that it finds, 5
 * % are chance on average, and where nothing has changed, it finds something in 5 % of comparisons.
 * Returns INFINITY if nothing has changed. Reorders `sigmas`.
 */
double diff_limit(double *sigmas, size_t nr);
