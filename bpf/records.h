/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adding records to the ring. User space empties it at its own pace. Only a ring that fills up
 * wakes the thread that copies records out of it (user/capture/kernel/receiver.c).
 */
#pragma once

#include "ring.h"

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
