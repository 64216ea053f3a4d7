/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many of the runs that a BPF program missed were of the targets. Nobody knows; in the mean it
 * is the same part as of the runs that it had meanwhile.
 */
#pragma once

#include "base/types.h"

struct missed {
	u64 nr_runs, nr_wanted; /* of the program so far: all, and those of targets */
	double nr;              /* of targets; it only grows */
};

/* The program has missed `more` runs since the last call. The other numbers only grow. */
static inline void missed_add(struct missed *m, u64 more, u64 nr_wanted, u64 nr_runs)
{
	u64 wanted = nr_wanted - m->nr_wanted, runs = nr_runs - m->nr_runs;

	if (!runs) { /* nothing ran meanwhile: as before */
		wanted = nr_wanted;
		runs = nr_runs;
	}
	m->nr += runs ? (double)more * (double)wanted / (double)runs : (double)more;
	m->nr_wanted = nr_wanted;
	m->nr_runs = nr_runs;
}
