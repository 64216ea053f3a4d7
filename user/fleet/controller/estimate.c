/* SPDX-License-Identifier: Apache-2.0 */
/* Totals and profiles of all nodes from a sample of them. */
#include "fleet/controller/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

#define REPEATS 1000
#define DRAWS   4000000 /* in all repeats together, roughly */
#define TAIL    0.025

struct moments {
	double mean, variance; /* of the mean, in a finite fleet */
};

/* xorshift64*: the interval must not depend on when it is computed. */
static u64 next_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static struct moments moments_of(double sum, double squares, u32 nr, u32 nr_all)
{
	double mean = sum / nr, spread = (squares - sum * mean) / (nr > 1 ? nr - 1 : 1);
	double rest = nr_all > nr ? 1 - (double)nr / nr_all : 0;

	return (struct moments){ mean, spread > 0 ? spread / nr * rest : 0 };
}

static struct moments sample_moments(const double *values, u32 nr, u32 nr_all)
{
	double sum = 0, squares = 0;

	for (u32 i = 0; i < nr; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	return moments_of(sum, squares, nr, nr_all);
}

/* Of nodes drawn with replacement. */
static struct moments redraw(const double *values, u32 nr, u32 nr_all, u64 *state)
{
	double sum = 0, squares = 0;

	for (u32 i = 0; i < nr; i++) {
		double v = values[(next_random(state) >> 32) * nr >> 32];
		sum += v;
		squares += v * v;
	}
	return moments_of(sum, squares, nr, nr_all);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sample of a difference; `b` alone if `a` is NULL. */
struct sides {
	const double *a, *b;
	u32 nr_a, nr_all_a, nr_b, nr_all_b;
};

static struct moments combine(const struct sides *s, struct moments a, struct moments b)
{
	return s->a ? (struct moments){ b.mean - a.mean, b.variance + a.variance } : b;
}

/*
 * Between which multiples of its standard error the sample's error lies, from `nr` draws.
 *
 * The quantile of the absolute deviation gives a symmetric interval. Two groups of one kind of load
 * differ symmetrically: the quantiles of each tail alone only add noise there, and held the truth
 * in 92.4 % of the cases. A total is skewed: its interval also has the quantiles of the tails, the
 * upper one being longer. Simulated fleets of 30, 50 and 200 nodes: 95 to 97 % hold the truth.
 */
static void find_limits(const struct sides *s, double *t, u32 nr, double *low, double *high)
{
	qsort(t, nr, sizeof(t[0]), by_value);
	double lowest = t[(u32)((double)nr * TAIL)], highest = t[(u32)((double)nr * (1 - TAIL))];

	for (u32 i = 0; i < nr; i++)
		t[i] = fabs(t[i]);
	qsort(t, nr, sizeof(t[0]), by_value);
	double most = t[(u32)((double)nr * (1 - 2 * TAIL))];
	*low = s->a ? -most : fmin(-most, lowest);
	*high = s->a ? most : fmax(most, highest);
}

static struct estimate interval(const struct sides *s)
{
	struct moments a = { 0 }, b = sample_moments(s->b, s->nr_b, s->nr_all_b);
	u32 nr = 0, repeats = DRAWS / (s->nr_a + s->nr_b + 1);
	u64 state = 0x9e3779b97f4a7c15ull;
	double *t = xcalloc(REPEATS, sizeof(t[0]));

	if (s->a)
		a = sample_moments(s->a, s->nr_a, s->nr_all_a);
	struct moments all = combine(s, a, b);
	struct estimate e = { .total = all.mean, .low = all.mean, .high = all.mean };
	repeats = repeats > REPEATS ? REPEATS : repeats < 200 ? 200 : repeats;
	for (u32 i = 0; i < repeats; i++) {
		if (s->a)
			a = redraw(s->a, s->nr_a, s->nr_all_a, &state);
		b = redraw(s->b, s->nr_b, s->nr_all_b, &state);
		struct moments drawn = combine(s, a, b);
		if (drawn.variance > 0)
			t[nr++] = (drawn.mean - all.mean) / sqrt(drawn.variance);
	}
	/* Draws do not know the finite fleet: their variance has the same factor as the sample's.
	 */
	double error = sqrt(all.variance);
	if (nr) {
		double low, high;
		find_limits(s, t, nr, &low, &high);
		e.low = all.mean - high * error;
		e.high = all.mean - low * error;
	}
	free(t);
	e.has_interval = true;
	return e;
}

static double sum_of(const double *values, u32 nr)
{
	double sum = 0;

	for (u32 i = 0; i < nr; i++)
		sum += values[i];
	return sum;
}

struct estimate estimate_total(const double *values, u32 nr, u32 nr_all)
{
	const struct sides s = { .b = values, .nr_b = nr, .nr_all_b = nr_all };
	struct estimate e = { 0 };

	if (!nr)
		return e;
	if (nr < ESTIMATE_NODES && nr < nr_all) {
		e.total = e.low = e.high = sum_of(values, nr) / nr * nr_all;
		return e;
	}
	e = interval(&s);
	e.total *= nr_all;
	e.low = e.low > 0 ? e.low * nr_all : 0;
	e.high *= nr_all;
	return e;
}

struct estimate estimate_difference(const struct estimate_groups *g)
{
	const struct sides s = { .a = g->before,
				 .b = g->after,
				 .nr_a = g->nr_before,
				 .nr_b = g->nr_after,
				 .nr_all_a = UINT32_MAX,
				 .nr_all_b = UINT32_MAX };
	struct estimate e = { 0 };

	if (!g->nr_before || !g->nr_after)
		return e;
	if (g->nr_before >= ESTIMATE_NODES && g->nr_after >= ESTIMATE_NODES)
		return interval(&s);
	e.total = sum_of(g->after, g->nr_after) / g->nr_after -
		  sum_of(g->before, g->nr_before) / g->nr_before;
	e.low = e.high = e.total;
	return e;
}

/* A type's estimates and raw values. */
struct scaled {
	bool is_raw;  /* a number of samples: not scaled */
	bool has_raw; /* another type keeps its raw values already */
	u32 raw;      /* the new type for them */
	double carry; /* lost by rounding so far */
};

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), nr = strlen(end);

	return len > nr && !strcmp(text + len - nr, end);
}

static bool has_type(const struct profile *p, const char *name)
{
	vec_each(t, &p->types)
		if (!strcmp(t->name, name))
			return true;
	return false;
}

static void plan(struct profile *p, u32 nr, struct scaled *all)
{
	for (u32 t = 0; t < nr; t++) {
		auto_free char *name = xstrdup(p->types.at[t].name);
		auto_free char *unit = xstrdup(p->types.at[t].unit);
		auto_free char *samples = xasprintf("%s-samples", name);
		all[t].is_raw = ends_in(name, "-samples") || ends_in(name, "-raw");
		all[t].has_raw = has_type(p, samples);
		if (all[t].is_raw || all[t].has_raw)
			continue;
		auto_free char *raw = xasprintf("%s-raw", name);
		bool are_samples = !strcmp(unit, "samples");
		all[t].raw = profile_find_type(p, are_samples ? samples : raw, unit);
	}
}

static u64 scale(u64 value, double factor, double *carry)
{
	double exact = (double)value * factor + *carry;
	u64 rounded = exact >= 0x1p63 ? 1ull << 63 : exact > 0.5 ? (u64)(exact + 0.5) : 0;

	*carry = exact - (double)rounded;
	return rounded;
}

void profile_scale(struct profile *p, double factor, double carry[SCALE_TYPES])
{
	u32 nr = (u32)p->types.nr;
	size_t nr_weights = p->weights.nr;
	struct scaled *all = xcalloc(nr + 1, sizeof(all[0]));

	plan(p, nr, all);
	for (u32 t = 0; t < nr && t < SCALE_TYPES; t++)
		all[t].carry = carry[t];
	for (size_t i = 0; i < nr_weights; i++) {
		struct weight w = p->weights.at[i];
		struct scaled *s = &all[w.type];
		if (s->is_raw)
			continue;
		p->weights.at[i].value = scale(w.value, factor, &s->carry);
		if (!s->has_raw)
			profile_add(p, w.node, w.labels, s->raw, w.value);
	}
	for (u32 t = 0; t < nr && t < SCALE_TYPES; t++)
		carry[t] = all[t].carry;
	free(all);
}
