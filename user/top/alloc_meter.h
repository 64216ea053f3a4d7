/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a JVM allocates between two readings of its threads. Threads that end keep what they had
 * at the last reading, so the sum never shrinks. What a thread allocated after that is not known.
 */
#pragma once

#include "base/dict.h"
#include "jvm/hotspot/gauges.h"

struct alloc_meter {
	struct dict threads; /* hash of (JavaThread *, tid) -> bytes at the last reading */
	u64 started;         /* gauges.threads_started at the last reading */
	bool has_begun;
	u64 total;      /* bytes since the first reading */
	u64 nr_partial; /* threads that ended, so that their last bytes are missing */
};

/*
 * Takes a reading. The first one is only the point to count from. A thread that is new counts from
 * its start.
 */
void alloc_meter_add(struct alloc_meter *m, const struct gauges *g);
void alloc_meter_fini(struct alloc_meter *m);
