/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when to look at the events of CPUs (cpus.h, sideband.h), once a second. A look at a busy
 * CPU interrupts it, for each event. The history of CPUs (cpulist.h) shows those that went or came,
 * and the clocks show a suspend. Whatever they do not show is found within half a minute.
 */
#pragma once

#include "base/types.h"

/* {0} is valid. */
struct hotplug {
	char *history;  /* of the CPUs when last read; owned */
	u64 looked_ns;  /* CLOCK_MONOTONIC of the last series of looks */
	u64 asleep_ns;  /* how long the system has slept */
	u32 nr_pending; /* looks of the series that remain */
};

/*
 * Whether to look. `history` is that of cpulist.h, NULL if it is unknown. A look compares with the
 * one before; a second one therefore follows.
 */
bool hotplug_needs_look(struct hotplug *h, const char *history, u64 mono_ns, u64 boot_ns);
void hotplug_fini(struct hotplug *h);
