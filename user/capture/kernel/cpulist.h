/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's lists of CPUs ("0-3,8"), and when CPUs may have come or gone. */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

typedef VEC(int) cpulist;

/* Parses `text` and appends to *out; -EINVAL if it is not such a list. */
int cpulist_parse(const char *text, cpulist *out);

/* Append the CPUs that are online, or that the machine has. */
int cpulist_online(cpulist *out);
int cpulist_present(cpulist *out);

/*
 * A text that differs after any CPU went offline or came online; NULL if the list is unreadable.
 * The caller frees it. It contains the inode of each CPU's folder `topology`: the kernel removes
 * that folder when the CPU goes and makes a new one when it comes back (topology_remove_dev,
 * drivers/base/topology.c).
 */
char *cpulist_history(void);

/* Appends the list as text, "0-3,8". */
void cpulist_text(const cpulist *list, struct str *out);

bool cpulist_has(const cpulist *list, int cpu);

/*
 * Decides when to look at the events of CPUs (cpus.h, sideband.h), once a second. Each look at an
 * event interrupts its CPU. The history of CPUs shows CPUs that went or came, and the clocks show a
 * suspend. Other changes are found within half a minute. {0} is valid.
 */
struct hotplug {
	char *history;  /* of the CPUs when last read; owned */
	u64 looked_ns;  /* CLOCK_MONOTONIC of the last series of looks */
	u64 asleep_ns;  /* how long the system has slept */
	u32 nr_pending; /* looks of the series that remain */
};

/*
 * Whether to look. `history` is cpulist_history, NULL if it is unknown. A look compares with the
 * one before; a second one therefore follows.
 */
bool hotplug_needs_look(struct hotplug *h, const char *history, u64 mono_ns, u64 boot_ns);
void hotplug_fini(struct hotplug *h);
