/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a JFR recording that only sysflame writes. Private to read_jfr.c. */
#pragma once

#include "export/readers/jfr_stacks.h"

struct jfr_own {
	u32 wall, wall_samples; /* types, plus one; 0: not known */
	struct str first;       /* "NAME/UNIT" of the type that was first; last chunk */
};

/* Reads the process of a thread. Its name is appended to *comm, as it is in the file. */
void jfr_own_process(struct jfr_stacks *s, const struct jfr_value *thread, struct labels *labels,
		     struct str *comm);

/* Finds the type of a JFR_OWN_SAMPLE. -EINVAL and a sentence if it is damaged. */
int jfr_own_type(struct jfr_stacks *s, const struct jfr_value *event, u32 *type);

/* Takes in an event of JFR_OWN_NOTE or JFR_OWN_PROFILE. Does nothing with others. */
void jfr_own_facts(struct jfr_stacks *s, const struct jfr_value *event, struct jfr_own *own);

/* Moves the type to the front that was first in the profile. Adds it if there are no types. */
void jfr_own_settle(const struct jfr_own *own, struct profile *p);
void jfr_own_fini(struct jfr_own *own);
