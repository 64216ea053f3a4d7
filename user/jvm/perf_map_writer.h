/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /tmp/perf-PID.map, the file from which perf(1) takes the names of a JVM's code. It is written to
 * the host's /tmp, where perf looks for it. For a JVM with its own root it is also written to that
 * /tmp, under the JVM's PID there.
 */
#pragma once

#include "base/types.h"
#include "proc/status.h"

struct perf_map_done {
	size_t nr_lines;
	char *no_agent; /* owned; why the names are from outside; NULL if they are the agent's */
};

/*
 * Writes the code that the JVM holds now. Waits for its agent and then detaches it. Returns NULL,
 * or "reason; what to do", which the caller frees. `agent_path` as for agents_new.
 */
char *perf_map_write(const char *agent_path, struct process_id id, struct perf_map_done *out);

/*
 * Removes both files, also of a process that has ended (start_ns 0). Returns NULL or a reason,
 * which the caller frees.
 */
char *perf_map_remove(struct process_id id);
