/* SPDX-License-Identifier: Apache-2.0 */
/* The label sets of a profile in the order of the format: who ran, by process and thread. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

#define NR_DIMS 2 /* process, thread */

struct labelsets {
	u32 *set_of; /* by labels_id */
	u32 nr;      /* 0: nothing is known of who ran, and the sections stay away */
};

/* Also appends the LABELSETS section, unless nr is 0. */
void labelsets_make(const struct profile *p, struct labelsets *sets, struct str *section);
void labelsets_free(struct labelsets *sets);
