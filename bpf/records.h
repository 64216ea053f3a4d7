/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ring of records. User space empties it at its own pace. Only a ring that fills up wakes the
 * thread that copies records out of it (user/capture/kernel/receiver.c).
 */
#pragma once

#include "maps.h"

#define RECORDS_WAKE_PART 8 /* of the ring */

/* The flags for adding a record to the ring. They wake the thread once, until it has run. */
static __always_inline u64 records_flags(void)
{
	u64 full = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	u64 size = bpf_ringbuf_query(&records, BPF_RB_RING_SIZE);

	if (full < size / RECORDS_WAKE_PART || __sync_lock_test_and_set(&receiver_is_called, 1))
		return BPF_RB_NO_WAKEUP;
	return BPF_RB_FORCE_WAKEUP;
}

/* A record with these flags did not fit and therefore woke no thread. */
static __always_inline void records_failed(void)
{
	receiver_is_called = 0;
}

/* Counts lost or adjusted samples of an event. */
static __always_inline void count_event_more(u32 event, enum event_count what, u64 more)
{
	u32 key = event * NR_EVENT_COUNTS + what;
	u64 *nr = bpf_map_lookup_elem(&event_counts, &key);

	if (nr)
		*nr += more;
}

static __always_inline void count_event(u32 event, enum event_count what)
{
	count_event_more(event, what, 1);
}
