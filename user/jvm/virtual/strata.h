/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many threads each one stands for, if the stacks of only some could be read: the others went
 * on meanwhile. Those of the same stratum stand for them, also in later looks. Private to
 * user/jvm.
 */
#pragma once

#include "base/types.h"

#define STRATA_OF_LOCKS 64

/* Other strata: threads that were read at once, and those that had changed and were read again. */
enum {
	STRATUM_STEADY = STRATA_OF_LOCKS,
	STRATUM_CHANGED,
	NR_STRATA,
};

/* {0} at first. Numbers of threads, by stratum. */
struct strata {
	struct stratum {
		double owed;   /* seen in earlier looks, in which none was read */
		u32 nr_unpaid; /* looks since then that have seen some */
		double seen, kept;
	} of[NR_STRATA];
};

/* The stratum of threads that wait for the same lock; 0: none, then of those in that state. */
u32 stratum_of_wait(u32 state, u64 lock);

void strata_begin_look(struct strata *s);
void strata_see(struct strata *s, u32 stratum, double nr);

/* The stacks of these threads were read. */
void strata_keep(struct strata *s, u32 stratum, double nr);

/*
 * How many threads each kept one stands for. A stratum that had none for many looks gives up: all
 * that were kept stand for its threads.
 */
void strata_weigh(struct strata *s, double factors[NR_STRATA]);
