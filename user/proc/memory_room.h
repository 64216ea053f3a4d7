/* SPDX-License-Identifier: Apache-2.0 */
/* How near a process is to the memory limit of its control groups. */
#pragma once

#include "base/types.h"

struct memory_room {
	u64 limit, left; /* of the group that has the least left */
};

/*
 * What its groups may still take before one of them meets its limit; what the kernel can drop from
 * its file cache counts as left. False if there is no limit, or none to be seen.
 */
bool memory_room_read(pid_t pid, struct memory_room *out);

/* The same of a group's folder, in the hierarchy that is mounted at `top`. */
bool memory_room_of(const char *folder, const char *top, struct memory_room *out);
