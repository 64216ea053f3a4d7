/* SPDX-License-Identifier: Apache-2.0 */
/* Ends what agents report from a JVM to anyone. */
#pragma once

#include "base/types.h"

/*
 * Ends all sessions in a JVM, also those of other processes; waits for it. NULL if it is done, else
 * "reason; what to do", which the caller frees. `path` as for agent_file_find. An agent from
 * another file, such as another version's, ends its sessions at the JVM's next event; *is_pending
 * says that this has not come yet.
 */
char *detach_all(const char *path, pid_t pid, u64 start_ns, bool *is_pending);
