/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions, for those who write to all of them. */
#pragma once

#include "jvmmap/session.h"

#define SESSIONS_MAX 4

/*
 * Takes the agent's lock and fills `out` with the sessions that want events; returns how many. 0:
 * none does, or the lock could not be had; nothing is held then. Sessions whose reader has gone are
 * closed here, since the agent has no thread of its own.
 */
int agent_begin(struct session *out[SESSIONS_MAX], uint64_t *time_ns);
void agent_end(void);
