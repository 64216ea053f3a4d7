/* SPDX-License-Identifier: Apache-2.0 */
/* A sampling perf event on every online CPU. It follows CPUs that come online and go offline. */
#pragma once

#include <linux/perf_event.h>

#include "capture/kernel/cpulist.h"
#include "capture/kernel/programs.h"

struct cpus;

/*
 * Opens the event for the recording's event `event`, not yet running. `only`, which outlives *out,
 * limits it to these CPUs; NULL: all. Returns 0 or a negative errno.
 */
int cpus_open(struct programs *bpf, const struct perf_event_attr *attr, const cpulist *only,
	      u32 event, struct cpus **out);
void cpus_close(struct cpus *c);

/*
 * Appends the CPUs that do not count the event to *list, and returns the last one's negative errno;
 * 0 if all do. At least one counts it.
 */
int cpus_refused(const struct cpus *c, struct str *list);

int cpus_start(struct cpus *c);
void cpus_stop(struct cpus *c);

/*
 * Opens the event on CPUs that came online and closes it on CPUs that went offline. Opens it again
 * on CPUs that did both since the last call. Call it from time to time.
 */
void cpus_follow(struct cpus *c);

int cpus_nr(const struct cpus *c);
u32 cpus_event(const struct cpus *c); /* its number in the recording */

/* Whether timers of the CPUs drive the event. */
bool cpus_are_clocks(const struct cpus *c);

/*
 * How many samples of the targets were due so far, and for how many of them no program ran: it
 * could not run beside others', or the CPU's timer was late. All only grow. Interrupts busy CPUs to
 * read their counts.
 */
struct cpus_due {
	u64 nr, nr_skipped, nr_late;
};
struct cpus_due cpus_due(struct cpus *c);

/* From now on another program takes the samples that are skipped; clocks only miss late ones. */
void cpus_take_skipped(struct cpus *c);

/* Whether more than noise of a clock's samples seem to be missing. Interrupts no CPU. */
bool cpus_seem_to_miss(struct cpus *c);

/* Tries to open the event: 0 or perf_event_open's negative errno. */
int cpus_try(const struct perf_event_attr *attr);
