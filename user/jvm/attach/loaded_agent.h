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
 * Fills in the other path by which the JVM knows the order's agent: our file's if `path` is that of
 * a copy, and the reverse. A JVM that has loaded both has two agents. False if it knows no other.
 */
bool loaded_agent_other_path(const struct job *j, const char *path, char out[DELIVERY_PATH_MAX]);
