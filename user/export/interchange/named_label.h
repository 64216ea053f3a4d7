/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A label of samples by the name that users write: `version`, or `route` for a label of another
 * tool or of a request. `label:NAME` is the latter even if a label of sysflame has that name. The
 * page has the same rule (user/ui/page/stacks/tags.js).
 */
#pragma once

#include "profile/profile.h"

struct named_label {
	int dim;         /* the enum label; -1: a tag */
	const char *tag; /* within the name that was looked up; NULL if it is none */
};

/* Whether a sample of the profile has the label. Not for `time` and `jvm`. */
bool named_label_find(const struct profile *p, const char *name, struct named_label *out);

/* The label's value for people, NULL or "" if these labels have none. The caller frees it. */
char *named_label_shown(const struct labels *l, const struct named_label *label);

/* Whether the text is NAME=VALUE. */
bool named_label_is_choice(const char *text);

/* Whether a label set has all of these, a list (struct opt_list) of NAME=VALUE. For profile_select.
 */
bool named_labels_match(const struct labels *l, const void *list);
