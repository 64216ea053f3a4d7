/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads each one stands for. */
#include "jvm/virtual/strata.h"

#include "base/dict.h"

#define UNPAID_MAX       8 /* looks */
#define UNPAID_LOCKS_MAX 64

u32 stratum_of_wait(u32 state, u64 lock)
{
	return (u32)(hash_u64(lock ?: state) % STRATA_OF_LOCKS);
}

void strata_begin_look(struct strata *s)
{
	for (int i = 0; i < NR_STRATA; i++)
		s->of[i].seen = s->of[i].kept = 0;
}

void strata_see(struct strata *s, u32 stratum, double nr)
{
	s->of[stratum].seen += nr;
}

void strata_keep(struct strata *s, u32 stratum, double nr)
{
	s->of[stratum].kept += nr;
}

void strata_weigh(struct strata *s, double factors[NR_STRATA])
{
	double all = 0, left = 0;

	for (int i = 0; i < NR_STRATA; i++)
		all += s->of[i].kept;
	for (int i = 0; i < NR_STRATA; i++) {
		struct stratum *one = &s->of[i];
		u32 most = i < STRATA_OF_LOCKS ? UNPAID_LOCKS_MAX : UNPAID_MAX;
		double sum = one->owed + one->seen;

		factors[i] = one->kept > 0 ? sum / one->kept : 0;
		one->owed = one->kept > 0 ? 0 : sum;
		one->nr_unpaid = one->owed > 0 ? one->nr_unpaid + (one->seen > 0) : 0;
		if (one->nr_unpaid < most || !(all > 0))
			continue;
		left += one->owed;
		one->owed = one->nr_unpaid = 0;
	}
	for (int i = 0; i < NR_STRATA; i++)
		factors[i] += s->of[i].kept > 0 ? left / all : 0;
}
