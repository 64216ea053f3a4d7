/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the rate of continuous profiling. */
#include "recorder/governor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OVER_SLICES 2  /* in a row, before the rate falls */
#define SAME_SLICES 2  /* before another change */
#define FIT_SLICES  6  /* in a row, before it rises */
#define FIT_MOST    96 /* after rises that were taken back */
#define OFF_SLICES  30 /* before another try */
#define FIT_PERCENT 80 /* of the budget, which the next rate may use */
#define PPM_PERCENT 10000.0

static const u32 rates[] = { 19, 11, 7, 3, 0 };

void governor_init(struct governor *g, const struct governor_limits *limits)
{
	*g = (struct governor){ .limits = *limits,
				.saved_ppm = (s64)(GOVERNOR_SLICES * limits->cpu_ppm),
				.fit_slices = FIT_SLICES };
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

/* Costs that grow faster than the rate would otherwise make it rise and fall for ever. */
static void judge_rise(struct governor *g)
{
	if (!g->has_risen)
		return;
	if (g->nr_same > GOVERNOR_SLICES)
		g->fit_slices = FIT_SLICES;
	else if (g->fit_slices < FIT_MOST)
		g->fit_slices *= 2;
}

static void change(struct governor *g, u32 step)
{
	g->has_risen = step < g->step;
	g->step = step;
	g->nr_over = g->nr_fit = g->nr_same = 0;
}

static bool fall(struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	if (g->step + 1 == ARRAY_SIZE(rates))
		return false;
	judge_rise(g);
	change(g, g->step + 1);
	if (cpu_ppm > g->limits.cpu_ppm)
		snprintf(g->why, sizeof(g->why),
			 "sysflame used more than its %.2f %% of a CPU (--max-cpu), %.2f %% in the "
			 "last seconds",
			 (double)g->limits.cpu_ppm / PPM_PERCENT, (double)cpu_ppm / PPM_PERCENT);
	else
		snprintf(g->why, sizeof(g->why),
			 "the node gave %" PRIu64 " samples per second, of at most %" PRIu64
			 " (--max-samples)",
			 samples_s, g->limits.samples_s);
	return true;
}

static bool rise(struct governor *g)
{
	change(g, g->step - 1);
	if (!g->step)
		g->why[0] = '\0';
	return true;
}

static void save(struct governor *g, u64 cpu_ppm)
{
	s64 most = (s64)(GOVERNOR_SLICES * g->limits.cpu_ppm);

	g->saved_ppm += (s64)g->limits.cpu_ppm - (s64)cpu_ppm;
	if (g->saved_ppm > most)
		g->saved_ppm = most;
	if (g->saved_ppm < -most)
		g->saved_ppm = -most;
}

bool governor_decide(struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	save(g, cpu_ppm);
	bool is_off = !rates[g->step], has_saved = g->saved_ppm >= 0;
	bool is_over =
		(cpu_ppm > g->limits.cpu_ppm && !has_saved) || samples_s > g->limits.samples_s;

	g->nr_same++;
	if (is_off)
		return g->nr_same >= OFF_SLICES && has_saved && rise(g);
	g->nr_over = is_over ? g->nr_over + 1 : 0;
	if (g->nr_over >= OVER_SLICES && g->nr_same > SAME_SLICES)
		return fall(g, cpu_ppm, samples_s);
	g->nr_fit = g->step && has_saved && fits(g, cpu_ppm, samples_s) ? g->nr_fit + 1 : 0;
	return g->nr_fit >= g->fit_slices && rise(g);
}
