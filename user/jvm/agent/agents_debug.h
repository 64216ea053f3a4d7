/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of one agent, for `sysflame debug agent` and tests. */
#pragma once

#include "jvm/agent/agents.h"
#include "proc/status.h"

struct agent_figures {
	u64 attach_ns;  /* from the child's start to the open ring */
	u64 ring_bytes; /* read so far */
	u64 nr_lost;    /* dropped by the JVM because we read too slowly */
	struct codemap_size code;
	const struct thread_names *threads; /* threads started since; tids of its pid namespace */
	const char *nonce;                  /* of the session, as in the name of its memfd */
};

/*
 * The code that the JVM's agent has reported, each with its tier and compile id if HotSpot's tables
 * have it, and figures about the agent. NULL if no agent is attached.
 */
const struct codemap *agents_codemap(struct agents *a, struct process_id id,
				     struct agent_figures *out);
