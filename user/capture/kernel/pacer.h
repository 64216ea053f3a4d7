/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The periods of a recording's clock events. A fixed period would always sample the same moment of
 * a program that works with that period. It therefore changes from round to round, around a mean
 * that is exact.
 */
#pragma once

#include "base/types.h"

struct pacer {
	u64 mean_ns; /* the period as requested */
	u64 random;
};

/* The samples of one event. The kernel starts a new period whenever it is set. */
struct paced {
	u64 period_ns, since_ns; /* the period, and the event's time when it was set */
	u64 nr;                  /* of samples that were due before */
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

/* How many samples were due by then. */
u64 paced_due(const struct paced *e, u64 now_ns);

/* How many samples the event owed when its period was set, by its mean period. */
double paced_debt(const struct paced *e, const struct pacer *p);
