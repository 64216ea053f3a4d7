/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a process may still take before its control groups' limit. */
#pragma once

#include "base/types.h"

struct memory_room {
	u64 limit, left; /* limit and room of the group with the least room */
};

/*
 * Finds how much the process's groups may still take before one of them reaches its limit. File
 * cache that the kernel can drop counts as free. Returns false if there is no limit or none is
 * visible.
 */
bool memory_room_read(pid_t pid, struct memory_room *out);

/* The same for a group's folder in the hierarchy that is mounted at `top`. */
bool memory_room_of(const char *folder, const char *top, struct memory_room *out);
