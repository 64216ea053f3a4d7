/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the rate of continuous profiling. */
#include "recorder/governor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OVER_SLICES 2  /* in a row, before the rate falls */
#define FIT_SLICES  6  /* in a row, before it rises */
#define OFF_SLICES  30 /* before another try */
#define FIT_PERCENT 80 /* of the budget, which the next rate may use */
#define PPM_PERCENT 10000.0

static const u32 rates[] = { 19, 11, 7, 3, 0 };

void governor_init(struct governor *g, const struct governor_limits *limits)
{
	*g = (struct governor){ .limits = *limits };
}

u32 governor_rate(const struct governor *g)
{
	return rates[g->step];
}

static bool fits(const struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	u32 now = rates[g->step], next = rates[g->step - 1];

	return cpu_ppm * next * 100 <= g->limits.cpu_ppm * now * FIT_PERCENT &&
	       samples_s * next * 100 <= g->limits.samples_s * now * FIT_PERCENT;
}

static bool fall(struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	if (g->step + 1 == ARRAY_SIZE(rates))
		return false;
	g->step++;
	g->nr_over = g->nr_fit = 0;
	if (cpu_ppm > g->limits.cpu_ppm)
		snprintf(g->why, sizeof(g->why),
			 "sysflame used %.2f %% of a CPU, of at most %.2f %% (--max-cpu)",
			 (double)cpu_ppm / PPM_PERCENT, (double)g->limits.cpu_ppm / PPM_PERCENT);
	else
		snprintf(g->why, sizeof(g->why),
			 "the node gave %" PRIu64 " samples per second, of at most %" PRIu64
			 " (--max-samples)",
			 samples_s, g->limits.samples_s);
	return true;
}

static bool rise(struct governor *g)
{
	g->step--;
	g->nr_over = g->nr_fit = 0;
	if (!g->step)
		g->why[0] = '\0';
	return true;
}

bool governor_decide(struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	bool is_off = !rates[g->step];
	bool is_over = cpu_ppm > g->limits.cpu_ppm || samples_s > g->limits.samples_s;
	bool is_far = cpu_ppm > 2 * g->limits.cpu_ppm || samples_s > 2 * g->limits.samples_s;

	if (is_off)
		return ++g->nr_fit >= OFF_SLICES && rise(g);
	g->nr_over = is_over ? g->nr_over + 1 : 0;
	if (is_far || g->nr_over >= OVER_SLICES)
		return fall(g, cpu_ppm, samples_s);
	g->nr_fit = g->step && fits(g, cpu_ppm, samples_s) ? g->nr_fit + 1 : 0;
	return g->nr_fit >= FIT_SLICES && rise(g);
}
