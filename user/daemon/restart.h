/* SPDX-License-Identifier: Apache-2.0 */
/* When a process of the daemon that ended is started again. */
#pragma once

#include "base/time.h"
#include "base/types.h"

/* The restarts in a row that come at once. */
#define RESTARTS_AT_ONCE 6

/* From then on a process that keeps failing waits this long. */
#define RESTART_EACH_NS (10 * NS_PER_SEC)

/* All zero: the process has not ended yet. */
struct restart {
	u64 paid_until_ns; /* each restart adds RESTART_EACH_NS */
};

/* The time of the restart after an end at `now_ns`; both of CLOCK_MONOTONIC. */
u64 restart_at_ns(struct restart *r, u64 now_ns);
