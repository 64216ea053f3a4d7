/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of this JVM and the agent's lock, which protects them. Commands run one at a time;
 * events come from all threads.
 */
#pragma once

#include "jvmmap/session.h"

#define SESSIONS_MAX WIRE_SESSIONS_MAX

/* Calls `settle`, with the lock held, whenever sessions of readers that have gone were closed. */
void sessions_on_close(void (*settle)(void));

/*
 * For events: takes the lock and fills `out` with the sessions that want events. Returns their
 * number; if it is 0 (no session, or the lock was not free in time), the lock is not held. Also
 * closes sessions whose reader has gone, because the agent rarely has a thread of its own. During a
 * replay, the events of its thread go to the session of the command only, and *time_ns is 0.
 */
int sessions_begin(struct session *out[SESSIONS_MAX], uint64_t *time_ns);
void sessions_end(void);

/* For commands, which may wait: the lock is held for one event at most. */
void sessions_lock(void);
void sessions_unlock(void);

/* All places; NULL if one is free. */
struct session *const *sessions_all(void);
struct session *sessions_find(const char *nonce);

/*
 * A new session. First closes those whose reader has gone. NULL if all places are taken or the
 * kernel refuses memory or the descriptor.
 */
struct session *sessions_open(const char *nonce);
void sessions_close(struct session *s);
/* Closes those whose reader has gone, but not the one in use. */
void sessions_close_abandoned(void);

/* The session of the running command, which events must not close; NULL: none. */
void sessions_use(struct session *s);
struct session *sessions_used(void);

/* The events of thread `tid` are the command's replay; 0: the replay is over. */
void sessions_replay(int tid);
