/* SPDX-License-Identifier: Apache-2.0 */
/* The label sets of a profile in the order of the format: by dimension. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

#define NR_DIMS NR_LABELS /* limit; process and thread are always present */

struct labelsets {
	u32 *set_of; /* by labels_id: number of the set */
	u32 nr;      /* number of sets; 0: no sample has labels, and the sections are omitted */
	enum label dims[NR_DIMS];
	int nr_dims;
	u64 nr_traces_out; /* traces whose numbers are left out (export/format/traces.h) */
};

/* Numbers the label sets. Also appends the LABELSETS section, unless nr is 0. */
void labelsets_make(const struct profile *p, struct labelsets *sets, struct str *section);
/* "process", "thread", "state", .. */
const char *labelsets_dim_name(enum label label);

/* The value of that dimension: "java-123", "" if unknown. The caller frees it. */
char *labelsets_text(const struct labels *l, enum label label);

/*
 * As labelsets_text, for people: a JVM has its own name, "tomcat - Bootstrap - 123". The caller
 * frees it.
 */
char *labelsets_shown(const struct labels *l, enum label label);

/* The label of that dimension, or -1. */
int labelsets_dim_find(const char *name);
void labelsets_free(struct labelsets *sets);
