/* SPDX-License-Identifier: Apache-2.0 */
/* The label sets of a profile in the order of the format: by dimension. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

#define NR_DIMS NR_LABELS /* at most; those of process and thread are always there */

struct labelsets {
	u32 *set_of; /* by labels_id */
	u32 nr;      /* 0: nothing is known of who ran, and the sections stay away */
	enum label dims[NR_DIMS];
	int nr_dims;
};

/* Also appends the LABELSETS section, unless nr is 0. */
void labelsets_make(const struct profile *p, struct labelsets *sets, struct str *section);
/* "process", "thread", "state", .. */
const char *labelsets_dim_name(enum label label);

/* The value of that dimension: "java-123", "" if unknown; for the caller to free. */
char *labelsets_text(const struct labels *l, enum label label);

/* The label of that dimension, -1 if there is none. */
int labelsets_dim_find(const char *name);
void labelsets_free(struct labelsets *sets);
