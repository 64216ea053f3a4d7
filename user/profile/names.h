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
