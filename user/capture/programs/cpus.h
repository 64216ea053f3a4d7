/* SPDX-License-Identifier: Apache-2.0 */
/* A sampling perf event on every online CPU. It follows CPUs that come online and go offline. */
#pragma once

#include <linux/perf_event.h>

#include "base/types.h"
#include "capture/kernel/cpulist.h"
#include "capture/programs/programs.h"

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
 * could not run beside others', or the CPU's timer was late. The numbers only grow. The call
 * interrupts busy CPUs to read their counts.
 */
struct cpus_due {
	u64 nr, nr_skipped, nr_late;
};
struct cpus_due cpus_due(struct cpus *c);

/* From now on another program takes the skipped samples, so clocks miss late samples only. */
void cpus_take_skipped(struct cpus *c);

/* Whether more of a clock's samples seem to be missing than noise explains. Interrupts no CPU. */
bool cpus_seem_to_miss(struct cpus *c);

/* Tries to open the event: 0 or perf_event_open's negative errno. */
int cpus_try(const struct perf_event_attr *attr);

/*
 * The periods of a recording's clock events. A fixed period would always sample the same moment of
 * a program that works with that period. It therefore changes from round to round, around a mean
 * that is exact.
 */
struct pacer {
	u64 mean_ns; /* the period as requested */
	u64 random;
};

/* The samples of one event. The kernel starts a new period whenever it is set. */
struct paced {
	u64 period_ns, since_ns; /* the period, and the event's time when it was set */
	u64 nr;                  /* samples that were due before `since_ns` */
};

/* A round: the same period for all CPUs, which begin it by turns. */
struct pacer_round {
	u64 length_ns, period_ns;
};

void pacer_init(struct pacer *p, u64 mean_ns, u64 seed);

/* `debt`: of the mean event. */
struct pacer_round pacer_next(struct pacer *p, double debt);

/* `now_ns`: the event's own time, which begins with 0. */
void paced_init(struct paced *e, const struct pacer *p);
void paced_set(struct paced *e, u64 period_ns, u64 now_ns);

/* How many samples were due until `now_ns`. */
u64 paced_due(const struct paced *e, u64 now_ns);

/* How many samples the event owed when its period was set, by its mean period. */
double paced_debt(const struct paced *e, const struct pacer *p);

/*
 * Estimates how many of a BPF program's missed runs were in targets. The exact number is unknown.
 * The estimate uses the share of targets among the runs that did take place in the same time.
 */
struct missed {
	u64 nr_runs, nr_wanted; /* of the program so far: all, and those of targets */
	double nr;              /* of targets; it only grows */
};

/* The program has missed `more` runs since the last call. The other numbers only grow. */
static inline void missed_add(struct missed *m, u64 more, u64 nr_wanted, u64 nr_runs)
{
	u64 wanted = nr_wanted - m->nr_wanted, runs = nr_runs - m->nr_runs;

	if (!runs) { /* no run since the last call: the share stays as it was */
		wanted = nr_wanted;
		runs = nr_runs;
	}
	m->nr += runs ? (double)more * (double)wanted / (double)runs : (double)more;
	m->nr_wanted = nr_wanted;
	m->nr_runs = nr_runs;
}
