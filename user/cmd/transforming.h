/* SPDX-License-Identifier: Apache-2.0 */
/* --transform and --raw-names: change the stacks before they are written or printed. */
#pragma once

#include "base/opt.h"
#include "export/export.h"
#include "profile/transform.h"

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
