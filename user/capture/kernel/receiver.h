/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the ring of records from filling up while the recording thread is busy. A thread of its own
 * copies the records into memory when BPF wakes it, and hands them over on request
 * (docs/decisions/0007).
 */
#pragma once

#include "capture/kernel/ring.h"

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
