/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of records that BPF programs fill (bpf/ring.h). */
#pragma once

#include "base/types.h"

/* Where the programs keep a ring. */
struct ring_place {
	int fd;         /* of the map; stays the caller's */
	u32 *is_called; /* receiver_is_called */
	u32 *halvings;  /* backlog_halvings; NULL if these programs do not sample */
};

struct ring;

int ring_new(const struct ring_place *place, struct ring **out);
void ring_free(struct ring *r);

/*
 * Calls `record` for every record in the ring until it returns false. The bytes are valid during
 * the call only. Call it from one thread at a time.
 */
typedef bool (*ring_record_fn)(const void *record, size_t len, void *ctx);
int ring_drain(struct ring *r, ring_record_fn record, void *ctx);

/*
 * Readable when the ring begins to fill, for an edge-triggered epoll. BPF then waits for
 * ring_answer_call, which returns whether it had, before it wakes the reader again.
 */
int ring_fd(const struct ring *r);
bool ring_answer_call(struct ring *r);

/* Has BPF sample short waits and agents' reports more rarely, by 2 to the power of `halvings`. */
void ring_set_halvings(struct ring *r, u32 halvings);
