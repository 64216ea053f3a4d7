/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the rate of continuous profiling. */
#include "daemon/recorder/governor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OVER_SLICES 2  /* slices in a row over the budget before the rate falls */
#define SAME_SLICES 2  /* before another change */
#define FIT_SLICES  6  /* slices in a row within the budget before the rate rises */
#define FIT_MOST    96 /* largest value of fit_slices, reached after rises that were taken back */
#define FIT_PERCENT 80 /* the next higher rate must fit in this part of the budget */
#define PPM_PERCENT 10000.0

/* if the cost is still this part of the cost before a fall, the fall saved nothing */
#define SAME_PERCENT 80
/* user stacks are taken again when the cost is below this part of the budget */
#define CHEAP_PERCENT 40

struct level {
	u32 hz;
	bool is_kernel_only;
};

/* The last level is off. The levels without user stacks come just before it. */
static const struct level levels[] = {
	{ 19, false }, { 11, false }, { 7, false }, { 3, false },
	{ 3, true },   { 1, true },   { 0, true },
};

#define OFF   (ARRAY_SIZE(levels) - 1)
#define CHEAP 4 /* the first level without user stacks */

struct governor_limits governor_scale(const struct governor_limits *limits, u32 nr_cpus)
{
	u64 nr = nr_cpus > GOVERNOR_CPUS ? nr_cpus : GOVERNOR_CPUS;

	return (struct governor_limits){ limits->cpu_ppm * nr / GOVERNOR_CPUS,
					 limits->samples_s * nr / GOVERNOR_CPUS };
}

void governor_init(struct governor *g, const struct governor_limits *limits)
{
	*g = (struct governor){ .limits = *limits,
				.saved_ppm = (s64)(GOVERNOR_SLICES * limits->cpu_ppm),
				.fit_slices = FIT_SLICES };
}

u32 governor_rate(const struct governor *g)
{
	return levels[g->step].hz;
}

bool governor_is_kernel_only(const struct governor *g)
{
	return levels[g->step].is_kernel_only;
}

static bool fits(const struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	u32 now = levels[g->step].hz, next = levels[g->step - 1].hz;

	if (g->step == CHEAP)
		return cpu_ppm * 100 <= g->limits.cpu_ppm * CHEAP_PERCENT;
	if (g->step > CHEAP) /* new programs cost most, at any rate */
		now = next;
	return cpu_ppm * next * 100 <= g->limits.cpu_ppm * now * FIT_PERCENT &&
	       samples_s * next * 100 <= g->limits.samples_s * levels[g->step].hz * FIT_PERCENT;
}

/*
 * Doubles the patience before the next rise if the last rise had to be taken back. Otherwise a cost
 * that grows faster than the rate would make the rate rise and fall for ever.
 */
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

/*
 * The level below the present one. If the last step down saved no CPU time, the first level without
 * user stacks.
 */
static u32 lower_step(const struct governor *g, u64 cpu_ppm)
{
	bool has_saved = cpu_ppm * 100 < g->fell_ppm * SAME_PERCENT;
	bool is_dear = cpu_ppm > g->limits.cpu_ppm;

	if (g->step && g->step < CHEAP && is_dear && g->fell_ppm && !has_saved)
		return CHEAP;
	return g->step + 1;
}

static void say_why(struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	const char *rest =
		governor_is_kernel_only(g) && g->step < OFF ? "; samples have no user stacks" : "";

	if (cpu_ppm > g->limits.cpu_ppm)
		snprintf(g->why, sizeof(g->why),
			 "sysflame used more than its %.2f %% of a CPU (--max-cpu), %.2f %% in the "
			 "last seconds%s",
			 (double)g->limits.cpu_ppm / PPM_PERCENT, (double)cpu_ppm / PPM_PERCENT,
			 rest);
	else
		snprintf(g->why, sizeof(g->why),
			 "the node gave %" PRIu64 " samples per second, of at most %" PRIu64
			 " (--max-samples)%s",
			 samples_s, g->limits.samples_s, rest);
}

static bool fall(struct governor *g, u64 cpu_ppm, u64 samples_s)
{
	u32 next = lower_step(g, cpu_ppm);

	/* Do not switch off because of samples, or of a little more CPU time than allowed. */
	if (next == OFF && cpu_ppm < 2 * g->limits.cpu_ppm)
		return false;
	judge_rise(g);
	change(g, next);
	g->fell_ppm = cpu_ppm;
	say_why(g, cpu_ppm, samples_s);
	return true;
}

static bool rise(struct governor *g)
{
	change(g, g->step - 1);
	g->fell_ppm = 0;
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
	bool is_off = g->step == OFF, has_saved = g->saved_ppm >= 0;
	bool is_over =
		(cpu_ppm > g->limits.cpu_ppm && !has_saved) || samples_s > g->limits.samples_s;

	g->nr_same++;
	if (is_off)
		return g->nr_same >= GOVERNOR_OFF_SLICES && rise(g);
	g->nr_over = is_over ? g->nr_over + 1 : 0;
	if (g->nr_over >= OVER_SLICES && g->nr_same > SAME_SLICES)
		return fall(g, cpu_ppm, samples_s);
	g->nr_fit = g->step && has_saved && fits(g, cpu_ppm, samples_s) ? g->nr_fit + 1 : 0;
	return g->nr_fit >= g->fit_slices && rise(g);
}
