/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of stacks: an ordered list of changes to a profile, the same as the page does them.
 * docs/transforms.md describes them; tests/web/transforms.json holds both to the same results.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "profile/profile.h"

enum transform_verb {
	TRANSFORM_FILTER,
	TRANSFORM_REMOVE,
	TRANSFORM_FOCUS,
	TRANSFORM_DROP,
	TRANSFORM_ABOVE,
	TRANSFORM_BELOW,
	TRANSFORM_RECURSION,
	TRANSFORM_GAPS,
	TRANSFORM_FOLD,
	TRANSFORM_REPLACE,
	NR_TRANSFORM_VERBS,
};

struct transform {
	enum transform_verb verb;
	char *what, *to; /* owned, never NULL; text or /expression/ */
	bool is_off;
};

#define TRANSFORMS_MAX     50             /* as in the page */
#define TRANSFORMS_MOST_NS 60000000000ull /* that a person waits for all of them */

struct transforms {
	VEC(struct transform) all;
};

/*
 * Appends what `text` says: "VERB WHAT" or "VERB WHAT -> TO", or the list of a page's link,
 * [["VERB","WHAT","TO",1 if off],..]. -EINVAL and a sentence if it is wrong.
 */
int transforms_parse(const char *text, struct transforms *out, struct str *why);
void transforms_fini(struct transforms *list);

/* Appends the list as a page's link has it. */
void transforms_print(const struct transforms *list, struct str *out);

/*
 * Does them one after another. -EINVAL and a sentence for a wrong expression, -EDOM and one for an
 * expression that takes too long, or all together longer than `most_ns`, -E2BIG and one if
 * replacing makes a name longer than FRAME_NAME_MAX, or too much text; the profile is unchanged
 * then.
 */
int transforms_apply(const struct transforms *list, struct profile *p, u64 most_ns,
		     struct str *why);

/* Like transforms_parse's checks alone: whether every expression is sound. */
int transforms_check(const struct transforms *list, struct str *why);

#define auto_transforms __attribute__((cleanup(transforms_fini)))
