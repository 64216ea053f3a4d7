/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a profile's Java frames readable names. */
#pragma once

#include "profile/profile.h"

enum name_style {
	NAMES_RAW,         /* as the JVM reports them */
	NAMES_SHOWN,       /* readable: java_name_show */
	NAMES_WITHOUT_IDS, /* also without ids: java_name_drop_ids, for comparing two runs */
};

/* Renames the frames and merges stacks that become equal. Ids of frames and nodes change. */
void profile_name_frames(struct profile *p, enum name_style style);

/*
 * The frames of one table under the names that they get in another. The names are kept: of many
 * profiles that share the first table, each frame is named only once. The first table may grow.
 */
struct naming;

struct naming *naming_new(const struct frames *from, struct frames *to, enum name_style style);
void naming_free(struct naming *n);

/*
 * Adds the nodes of `p` to `out`, whose frames are in the second table. `at` has room for a node of
 * `out` for each node of `p`.
 */
void naming_copy_nodes(struct naming *n, const struct profile *p, struct profile *out, node_id *at);

/* The name that a frame of the first table gets; valid as long as the second table. */
const char *naming_name(struct naming *n, frame_id f);
