/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that run. Each gets a number on the recorder's channel. Its parts go to the store as
 * they arrive. When it has ended, a worker merges them, and the result is kept as a profile.
 */
#pragma once

#include "control/protocol.h"
#include "web/session.h"

struct service;
struct sessions;

struct sessions *sessions_new(struct service *sv);
void sessions_free(struct sessions *all);

/* Answers everybody who waits for a recording. Their parts stay for the next start. */
void sessions_end_waits(struct sessions *all);

/* Keeps the parts of recordings that ran when the daemon ended. */
void sessions_adopt_orphans(struct sessions *all);

/* -EPIPE: there is no recorder. -EBUSY: as many run as may. */
int sessions_may_start(const struct sessions *all);

/*
 * Asks the recorder for a recording. Fails as sessions_may_start does, or with -EAGAIN: the
 * recorder reads too slowly. `answer` is not called if this fails.
 */
int sessions_start(struct sessions *all, const struct session_order *o);

/* The recordings that run, the oldest first. NULL after the last. */
struct session *sessions_at(const struct sessions *all, size_t i);
struct session *sessions_find(const struct sessions *all, u64 id);

/* Ends a recording; it is kept, or not. */
int sessions_stop(struct session *s);
int sessions_discard(struct session *s);

/* A message of the recorder about a recording; `fd` stays the caller's. */
void sessions_message(struct sessions *all, const struct control_message *m, int fd);

/* The channel has ended: keeps the parts of the recordings that ran. */
void sessions_lost_recorder(struct sessions *all, const char *why);

/* Deadlines; call it some times a second. */
void sessions_tick(struct sessions *all);
