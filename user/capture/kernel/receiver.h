/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of records that BPF programs fill (bpf/ring.h), and the thread that keeps it from filling
 * up while the recording thread is busy. That thread copies the records into memory when BPF wakes
 * it, and hands them over on request (docs/decisions/0007).
 */
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

/* Records that arrived together. */
struct parcel {
	struct parcel *next;
	size_t nr_bytes; /* used part of `bytes` */
	u8 bytes[];
};

struct receiver;

/*
 * Starts the thread. If that fails, or without `has_thread`, only receiver_take reads the ring. It
 * then does not have to wait for the thread, but the ring must hold all that arrives in between.
 * At most `backlog_max` bytes are copied and not returned (0: 64 MB). With more, the ring fills and
 * counts its losses.
 */
struct receiver *receiver_new(struct ring *ring, size_t backlog_max, bool has_thread);
void receiver_free(struct receiver *r);

/*
 * Takes all records that have arrived so far, in order. Give them back with receiver_return. NULL
 * if there are none.
 */
struct parcel *receiver_take(struct receiver *r);

/* Appends `more`. */
void parcels_add(struct parcel **parcels, struct parcel *more);

/* Takes back the parcels with their records. */
void receiver_return(struct receiver *r, struct parcel *parcels);

/* Calls `record` for each record. The bytes are valid until receiver_return. */
typedef void (*parcel_record_fn)(const void *record, size_t len, void *ctx);
void parcels_each(const struct parcel *parcels, parcel_record_fn record, void *ctx);

/* The bytes of records that have arrived and were not returned. */
size_t receiver_backlog(const struct receiver *r);
