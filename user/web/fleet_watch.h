/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the JVMs that end during a recording of the fleet, or within 60 s after it. */
#pragma once

#include "base/vec.h"
#include "control/protocol.h"

#define FLEET_WATCH_NS (60ull * 1000 * 1000 * 1000)

struct watched_jvm {
	s32 pid;
	u64 started;
};

struct fleet_watch {
	u32 number;
	u64 ended_ns; /* CLOCK_MONOTONIC; 0: the recording runs */
	u32 nr_died;
	VEC(struct watched_jvm) jvms; /* that have not ended */
};

struct recorder_link;

/* Watches the JVMs that run now; of a container only, if its id or name is not "". */
struct fleet_watch *fleet_watch_new(u32 number, const struct recorder_link *r,
				    const char *container);
void fleet_watch_free(struct fleet_watch *w);

/* Counts those that have ended. Returns whether there are more than before. */
bool fleet_watch_look(struct fleet_watch *w, const struct recorder_link *r);
