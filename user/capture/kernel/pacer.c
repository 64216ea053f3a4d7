/* SPDX-License-Identifier: Apache-2.0 */
/* The periods of a recording's clock events. */
#include "capture/kernel/pacer.h"

#include "base/time.h"

/* A round has enough periods that the drift of one to two periods hardly changes the rate. */
#define ROUND_PERIODS 50
#define ROUND_NS      (250 * NS_PER_MS)

void pacer_init(struct pacer *p, u64 mean_ns, u64 seed)
{
	*p = (struct pacer){ .mean_ns = mean_ns, .random = seed };
}

/* At least 0 and below 1 (splitmix64). */
static double random_share(struct pacer *p)
{
	u64 x = p->random += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (double)((x ^ x >> 31) >> 11) / (double)(1ull << 53);
}

/*
 * During a round the samples drift by one to two periods against a program with the mean period, to
 * see all of its moments alike. The direction pays the debt. Every change of the period costs half
 * a sample in the mean.
 */
struct pacer_round pacer_next(struct pacer *p, double debt)
{
	u64 shortest_ns = p->mean_ns * ROUND_PERIODS;
	double mean = (double)p->mean_ns;
	double length = (double)(shortest_ns > ROUND_NS ? shortest_ns : ROUND_NS);

	length *= 0.75 + random_share(p) / 2;
	double drift = 1 + random_share(p);
	double samples = length / mean + (debt + 0.5 > 0 ? drift : -drift);
	return (struct pacer_round){ (u64)length, (u64)(length / samples) };
}

void paced_init(struct paced *e, const struct pacer *p)
{
	*e = (struct paced){ .period_ns = p->mean_ns };
}

void paced_set(struct paced *e, u64 period_ns, u64 now_ns)
{
	e->nr = paced_due(e, now_ns);
	e->period_ns = period_ns;
	e->since_ns = now_ns;
}

u64 paced_due(const struct paced *e, u64 now_ns)
{
	return e->nr + (now_ns > e->since_ns ? (now_ns - e->since_ns) / e->period_ns : 0);
}

double paced_debt(const struct paced *e, const struct pacer *p)
{
	return (double)e->since_ns / (double)p->mean_ns - (double)e->nr;
}
