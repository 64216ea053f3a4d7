/* SPDX-License-Identifier: Apache-2.0 */
/* Where a sample stands in the profile: the levels under the root, and the labels. */
#pragma once

#include "abi.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sym/symbolize.h"

struct levels {
	struct profile *profile;
	struct symbolizer *symbolizer;
	bool by_process; /* the level under the root is the process, COMM-PID */
};

/* The node under which the sample's frames go; the lowest level is the thread's state if asked. */
node_id levels_node(struct levels *l, const struct process *p, const struct sample *sample,
		    bool by_state);
labels_id levels_labels(struct levels *l, const struct process *p, const struct sample *sample);
