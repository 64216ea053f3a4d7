/* SPDX-License-Identifier: Apache-2.0 */
/* Where a sample stands in the profile: the levels under the root, and the labels. */
#pragma once

#include <regex.h>

#include "base/str.h"
#include "jvm/agents.h"
#include "jvm/jvms.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sym/symbolize.h"

enum level {
	LEVEL_PROCESS,
	LEVEL_THREAD,
	LEVEL_CONTAINER,
	LEVEL_POD,
	LEVEL_HOST,
	NR_LEVELS,
};

/* From the root on. */
struct level_list {
	enum level at[NR_LEVELS];
	size_t nr;
};

/* "pod,process", "none"; -EINVAL after having said in `why` what is wrong. */
int levels_parse(const char *text, struct level_list *out, struct str *why);

/* Adds one at the lower end unless it is there. */
void levels_add(struct level_list *list, enum level level);

struct levels {
	struct level_list list;
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct containers *containers;
	struct jvms *jvms;
	const struct agents *agents;
	const regex_t *thread; /* only samples of threads whose names it matches; NULL: all */
	u64 started_ns;        /* where the slots of time begin */
};

struct sample;

/* Where a sample goes; `labels` and `node` are set by levels_place. */
struct place {
	node_id node; /* its frames go below */
	labels_id labels;
};

/*
 * Finds the sample's place; `by_state`: the lowest level is what the thread did. False if its
 * thread is not wanted.
 */
bool levels_place(struct levels *l, struct process *p, const struct sample *sample, bool by_state,
		  struct place *out);
