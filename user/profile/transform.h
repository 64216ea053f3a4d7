/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms: an ordered list of changes to the stacks of a profile. The page has the same ones.
 * docs/transforms.md describes them; tests/web/transforms.json checks that both give the same
 * results.
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
	TRANSFORM_JOIN,
	NR_TRANSFORM_VERBS,
};

struct transform {
	enum transform_verb verb;
	char *what, *to; /* owned, never NULL; text, /expression/ or kind:KIND */
	bool is_off;
};

#define TRANSFORMS_MAX     50             /* as in the page */
#define TRANSFORMS_MOST_NS 60000000000ull /* the longest that a user waits for all of them */

struct transforms {
	VEC(struct transform) all;
};

/*
 * Appends the transforms in `text`: "VERB WHAT", "VERB WHAT -> TO", or the list of a page's link,
 * [["VERB","WHAT","TO",1 if off],..]. Returns -EINVAL and a sentence if the text is invalid.
 */
int transforms_parse(const char *text, struct transforms *out, struct str *why);
void transforms_fini(struct transforms *list);

/* Appends the list in the form of a page's link. */
void transforms_print(const struct transforms *list, struct str *out);

/*
 * Applies the transforms one after another. On errors it returns a sentence and leaves the profile
 * unchanged. -EINVAL: invalid expression. -EDOM: an expression takes too long, or all together take
 * more than `most_ns`. -E2BIG: replacing makes a name longer than FRAME_NAME_MAX, or too much text.
 */
int transforms_apply(const struct transforms *list, struct profile *p, u64 most_ns,
		     struct str *why);

/* Checks only whether every expression is valid, like transforms_parse. */
int transforms_check(const struct transforms *list, struct str *why);

#define auto_transforms __attribute__((cleanup(transforms_fini)))
