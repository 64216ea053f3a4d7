/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /tmp/perf-PID.map, by which perf(1) names the code of a JVM: written where perf looks for it,
 * which is the /tmp of the host, and for a JVM with a root of its own also that /tmp, under its PID
 * there.
 */
#pragma once

#include "base/types.h"

struct perf_map_done {
	size_t nr_lines;
	char *no_agent; /* why the names come from outside, owned; NULL: the agent told them */
};

/*
 * Writes what stands in the JVM now; waits for its agent, which it then detaches. NULL, or
 * "reason; what to do", which the caller frees. `agent_path` as for agents_new.
 */
char *perf_map_write(const char *agent_path, pid_t pid, u64 start_ns, struct perf_map_done *out);

/* Removes both files, also of a process that has ended (start_ns 0). NULL or a reason. */
char *perf_map_remove(pid_t pid, u64 start_ns);
