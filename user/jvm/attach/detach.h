/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the sessions of agents in a JVM. */
#pragma once

#include "base/types.h"
#include "proc/status.h"

/*
 * Ends all sessions in a JVM, also those of other readers, and waits for the end. Returns NULL, or
 * "reason; what to do", which the caller frees. `path` as for agent_file_find. An agent from
 * another file, for example of another version, ends its sessions at the JVM's next event;
 * *is_pending is set if that has not happened yet.
 */
char *detach_all(const char *path, struct process_id id, bool *is_pending);
