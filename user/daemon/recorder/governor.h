/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the rate of continuous profiling, so that the recorder stays within a budget of CPU time
 * and of samples. It decides once per slice. CPU time that a quiet slice leaves over is saved for
 * GOVERNOR_SLICES: reading the symbols of a new program takes more than one slice's share.
 *
 * Where a lower rate does not lower the costs, they follow new programs, whose files are read for
 * their stacks. Then samples have the stack of the kernel only. Continuous profiling is off only
 * while even this takes twice the budget, and never for longer than GOVERNOR_OFF_SLICES. Each rise
 * that is taken back doubles the wait for the next.
 */
#pragma once

#include "base/types.h"

#define GOVERNOR_SLICES     60 /* ten minutes */
#define GOVERNOR_OFF_SLICES 5
#define GOVERNOR_CPUS       4 /* number of CPUs for which the limits are stated */

struct governor_limits {
	u64 cpu_ppm;   /* own CPU time, in millionths of one CPU */
	u64 samples_s; /* samples per second */
};

/* The limits for a node with more than GOVERNOR_CPUS, which has more work in proportion. */
struct governor_limits governor_scale(const struct governor_limits *limits, u32 nr_cpus);

struct governor {
	struct governor_limits limits;
	u32 step;      /* in the list of levels */
	u64 fell_ppm;  /* cost at the last fall of the rate; 0: the rate has risen since */
	s64 saved_ppm; /* saved CPU time, in ppm of a slice; negative: overspent */
	/*
	 * slices in a row over the budget; slices in a row in which the next higher rate would fit
	 */
	u32 nr_over, nr_fit;
	u32 nr_same;    /* slices since the rate changed; the change itself takes CPU time */
	u32 fit_slices; /* nr_fit before it rises */
	bool has_risen; /* at the last change */
	char why[256];  /* why the level is lower than the first; "" if it is the first */
};

void governor_init(struct governor *g, const struct governor_limits *limits);

/* Hz; 0: off. */
u32 governor_rate(const struct governor *g);

/* Whether samples have no stacks of user space. */
bool governor_is_kernel_only(const struct governor *g);

/* Takes the cost of the last slice into account. Returns whether the level has changed. */
bool governor_decide(struct governor *g, u64 cpu_ppm, u64 samples_s);
