/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a census take part. */
#include "fleet/controller/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "fleet/wire/selector.h"

/*
 * The least size of a node, as a part of the mean size. It bounds the weight of a node that does
 * more than the census said.
 */
#define LEAST_SIZE 0.1
#define OFF        0.3 /* expected deviation of a node's CPU use from its use in the census: 30 % */
#define PPM        1e6

static bool matches(const struct gather_node *n)
{
	return n->verdict != VERDICT_NO_MATCH;
}

/*
 * The pull of a node: its chance to be chosen is proportional to the pull. The pull is 1 if chances
 * are equal. Otherwise it is the size. A node of unknown size gets the root mean square of the
 * known sizes, because it may be large: that choice gives the total the least variance (J. Neyman,
 * Journal of the Royal Statistical Society 97, 1934).
 */
static double pull_of(const struct choice *c, u64 busy_ppm)
{
	double mean = c->fleet.mean, busy = (double)busy_ppm / PPM;

	if (c->is_equal)
		return 1;
	if (!busy_ppm)
		return sqrt(mean * mean + c->fleet.variance);
	return busy > LEAST_SIZE * mean ? busy : LEAST_SIZE * mean;
}

double choice_size(const struct choice *c, u64 busy_ppm)
{
	return c->is_equal ? 1 : busy_ppm ? (double)busy_ppm / PPM : c->fleet.mean;
}

/* Mean and variance of the sizes that are known. */
static void measure(struct choice *c)
{
	struct estimate_fleet *f = &c->fleet;
	double sum = 0;
	u32 nr_known = 0;

	vec_each(n, &c->census->nodes) {
		if (!matches(*n))
			continue;
		f->nr++;
		f->nr_unknown += !(*n)->busy_ppm;
		nr_known += (*n)->busy_ppm != 0;
		sum += (double)(*n)->busy_ppm / PPM;
	}
	f->mean = nr_known ? sum / nr_known : 1;
	vec_each(n, &c->census->nodes) {
		double off = (double)(*n)->busy_ppm / PPM - f->mean;
		if (!matches(*n) || !(*n)->busy_ppm)
			continue;
		f->variance += off * off / nr_known;
	}
}

void choice_take(struct choice *c, const struct gather *census, const u8 *seed, bool wants_equal)
{
	*c = (struct choice){ .census = census, .sampling.to_rank = UINT32_MAX };
	memcpy(c->sampling.seed, seed, sizeof(c->sampling.seed));
	measure(c);
	c->is_equal = wants_equal || c->fleet.nr_unknown * 2 > c->fleet.nr;
	if (c->is_equal) /* a few large nodes may be among them */
		c->fleet.nr_unknown = c->fleet.nr;
	vec_each(n, &census->nodes)
		c->fleet.size += matches(*n) ? choice_size(c, (*n)->busy_ppm) : 0;
}

/*
 * The expected number of chosen nodes, or of busy CPUs on chosen nodes, if a pull of 1 gives a
 * chance of `per_pull`.
 */
static double expect(const struct choice *c, double per_pull, bool are_cpus)
{
	double sum = 0;

	vec_each(n, &c->census->nodes) {
		u64 busy = (*n)->busy_ppm;
		double chance = fmin(1, per_pull * pull_of(c, busy));
		double cpus = busy ? (double)busy / PPM : c->fleet.mean;
		sum += !matches(*n) ? 0 : are_cpus ? chance * cpus : chance;
	}
	return sum;
}

/*
 * The inverse of expect(): the chance for a pull of 1 with which `wanted` nodes, or busy CPUs, are
 * expected.
 */
static double find_chance(const struct choice *c, double wanted, bool are_cpus)
{
	double low = 1e-12 / c->fleet.mean, high = 1e12 / c->fleet.mean;

	for (int i = 0; i < 100; i++) {
		double middle = sqrt(low * high);
		*(expect(c, middle, are_cpus) < wanted ? &low : &high) = middle;
	}
	return high;
}

double choice_nodes_of(const struct choice *c, double nr_samples, double per_cpu)
{
	return fmax(1, expect(c, find_chance(c, nr_samples / per_cpu, true), false));
}

/* Half the width of the expected interval, as a fraction of the total. */
static double expect_width(const struct choice *c, double per_pull)
{
	const struct estimate_fleet *f = &c->fleet;
	double unknown = fmin(1, per_pull * pull_of(c, 0));
	double sum = f->nr_unknown * (1 / unknown - 1) * f->variance;

	vec_each(n, &c->census->nodes) {
		u64 busy = (*n)->busy_ppm;
		double chance = fmin(1, per_pull * pull_of(c, busy));
		double error = OFF * choice_size(c, busy);
		sum += matches(*n) ? (1 - chance) / chance * error * error : 0;
	}
	return 1.96 * sqrt(sum) / f->size;
}

double choice_nodes_within(const struct choice *c, double within)
{
	double low = 1e-12 / c->fleet.mean, high = 1e12 / c->fleet.mean;

	if (c->fleet.nr_unknown * 100 > c->fleet.nr * ESTIMATE_UNKNOWN_PCT)
		return 0;
	for (int i = 0; i < 100; i++) {
		double middle = sqrt(low * high);
		*(expect_width(c, middle) > within ? &low : &high) = middle;
	}
	return fmax(ESTIMATE_NODES, ceil(expect(c, high, false)));
}

static int by_rank(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/* The caller frees the ranks, which are sorted. */
static u32 *ranks_of(const struct choice *c)
{
	u32 *ranks = xcalloc(c->fleet.nr + 1, sizeof(ranks[0])), nr = 0;

	vec_each(n, &c->census->nodes)
		if (matches(*n))
			ranks[nr++] = sampling_rank(&c->sampling, (*n)->name, (*n)->busy_ppm);
	qsort(ranks, nr, sizeof(ranks[0]), by_rank);
	return ranks;
}

static u64 ppb(double chance)
{
	return chance < 1e9 ? (u64)(chance * FLEET_PPB) : UINT64_MAX;
}

static void set_chances(struct choice *c, size_t nr)
{
	double per_pull = find_chance(c, (double)nr, false);
	u64 least = ppb(per_pull * LEAST_SIZE * c->fleet.mean);
	u64 unknown = ppb(per_pull * pull_of(c, 0));

	c->sampling.cpu_ppb = c->is_equal ? 0 : ppb(per_pull);
	least = c->is_equal ? unknown : least;
	c->sampling.least_ppb = (u32)(least < FLEET_PPB ? least : FLEET_PPB);
	c->sampling.unknown_ppb = (u32)(unknown < FLEET_PPB ? unknown : FLEET_PPB);
}

void choice_plan(struct choice *c, size_t nr, bool in_waves)
{
	u32 second = (u32)((nr + 50) / 100), sizes[WAVES_MAX] = { 0 }, end = 0;

	c->nr_chosen = nr = nr < c->fleet.nr ? nr : c->fleet.nr;
	if (nr < c->fleet.nr)
		set_chances(c, nr);
	if (in_waves && nr > 1) {
		sizes[c->nr_waves++] = 1;
		if (second > 1 && second + 1 < nr)
			sizes[c->nr_waves++] = second;
	}
	auto_free u32 *ranks = ranks_of(c);
	for (u32 i = 0; i <= c->nr_waves; i++) {
		u32 size = i == c->nr_waves ? (u32)nr - end : sizes[i];
		end += size;
		c->waves[i] =
			(struct choice_wave){ end < c->fleet.nr ? ranks[end] : UINT32_MAX, size };
	}
	c->nr_waves++;
}

u32 choice_asked(const struct choice *c, u32 wave)
{
	u32 nr = 0;

	for (u32 i = 0; i <= wave; i++)
		nr += c->waves[i].nr_nodes;
	return nr;
}

void choice_add_canary(struct choice *c)
{
	auto_free u32 *ranks = ranks_of(c);

	memmove(&c->waves[2], &c->waves[1], (c->nr_waves - 1) * sizeof(c->waves[0]));
	c->waves[1] = (struct choice_wave){ ranks[2], 1 };
	c->waves[2].nr_nodes--;
	c->nr_waves++;
}

void choice_end(struct choice *c, u32 wave)
{
	c->is_cut = wave + 1 < c->nr_waves;
	c->nr_waves = wave + 1;
	c->nr_chosen = choice_asked(c, wave);
}

double choice_reach(const struct choice *c)
{
	return c->is_cut ? (double)c->waves[c->nr_waves - 1].to_rank / FLEET_PPB : 1;
}

double choice_chance(const struct choice *c, u64 busy_ppm)
{
	double chance = (double)sampling_chance(&c->sampling, busy_ppm) / FLEET_PPB;

	return c->nr_chosen < c->fleet.nr ? estimate_chance(chance, choice_reach(c)) : 1;
}

double choice_fail_chance(u32 failed, u32 nr)
{
	const double p = CHOICE_FAILS;
	double term = pow(1 - p, nr), fewer = 0;

	for (u32 i = 0; i < failed; i++) {
		fewer += term;
		term *= (nr - i) / (i + 1.0) * p / (1 - p);
	}
	return 1 - fewer;
}
