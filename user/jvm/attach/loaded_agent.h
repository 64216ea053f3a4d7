/* SPDX-License-Identifier: Apache-2.0 */
/* Which agent a JVM has loaded. */
#pragma once

#include "jvm/attach/job.h"

/* Whether the JVM has loaded the order's agent, from its file or from a copy. */
bool loaded_agent_is_ours(const struct job *j);

/*
 * Whether the JVM knows the order's agent by the order's `loaded_path`, so that loading that path
 * again loads no other file. The sender of the order may have been taken over. Never true for a
 * copy in a JVM for musl.
 */
bool loaded_agent_has_path(const struct job *j);

/*
 * Whether no further command reaches the agent that was loaded from `path`: a copy in a JVM for
 * musl. Another copy would be another agent, without the sessions of the first one.
 */
bool loaded_agent_is_unreachable(const struct job *j, const char *path);

/*
 * The paths by which a JVM may know the order's agent. It has as many agents as it has loaded
 * paths.
 */
enum agent_path {
	AGENT_FILE,       /* our file's own path */
	AGENT_COPY,       /* that of copies */
	AGENT_OTHER_COPY, /* that of a copy for one session, made while AGENT_COPY was taken */
	NR_AGENT_PATHS
};

/*
 * Fills in a path of that kind. `nonce` is that of the session for AGENT_OTHER_COPY. False if the
 * JVM has not loaded the agent from there. Mappings of former mounts look alike, so for them the
 * result may be true for another copy.
 */
bool loaded_agent_path(const struct job *j, enum agent_path which, const char *nonce,
		       char out[DELIVERY_PATH_MAX]);
