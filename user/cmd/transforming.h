/* SPDX-License-Identifier: Apache-2.0 */
/* --transform and --raw-names: changes to the stacks that are written or printed. */
#pragma once

#include "base/opt.h"
#include "export/export.h"
#include "profile/transform.h"

#define TRANSFORM_OPT(words)                                                                    \
	{                                                                                       \
		0, "transform", OPT_LIST, words, "T", "\"remove x\", \"replace /a+/ -> b\", .." \
	}

#define RAW_NAMES_OPT(flag)                                                       \
	{                                                                         \
		0, "raw-names", OPT_BOOL, flag, NULL, "names as the JVM has them" \
	}

/* -EINVAL after having said what is wrong. */
int transforming_parse(const struct opt_list *words, struct transforms *out);

/* What a page shows first: sets `key` of the text behind the # of its address. */
void transforming_add_view(struct profile *p, const char *key, const char *value);

/*
 * Does the transforms before the profile is written as `f` (NULL: printed); a page gets them to do
 * itself, where they can be changed. A negative errno after having said which one failed.
 */
int transforming_apply(const struct transforms *list, const struct format *f, struct profile *p);
