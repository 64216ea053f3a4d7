/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a profile's Java frames the names that people read. */
#pragma once

#include "profile/profile.h"

enum name_style {
	NAMES_RAW,         /* as the JVM has them */
	NAMES_SHOWN,       /* java_name_show */
	NAMES_WITHOUT_IDS, /* and java_name_drop_ids, for comparing two runs */
};

/* Stacks that are equal then become one. Ids of frames and nodes are others afterwards. */
void profile_name_frames(struct profile *p, enum name_style style);
