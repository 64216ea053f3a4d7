/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions, for code that writes to all of them. */
#pragma once

#include "jvmmap/session.h"

#define SESSIONS_MAX 4

/*
 * Takes the agent's lock and fills `out` with the sessions that want events. Returns their number;
 * if it is 0 (no session, or the lock was not free in time), the lock is not held. It also closes
 * sessions whose reader has gone, because the agent has no thread of its own.
 */
int agent_begin(struct session *out[SESSIONS_MAX], uint64_t *time_ns);
void agent_end(void);
