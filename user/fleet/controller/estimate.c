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
/*
 * The least relative error that is assumed between a node's load and its size in the census. A few
 * nodes may agree better by chance.
 */
#define EXACT 0.03
/*
 * Half the width of the narrowest interval, relative to the total: a node's record is itself a
 * sample.
 */
#define LEAST_HALF 0.001

#define TAILS 0.05 /* both */

struct moments {
	double mean, variance; /* of the mean */
};

/* xorshift64*: the interval must not depend on when it is computed. */
static u64 next_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static struct moments moments_of(double sum, double squares, u32 nr)
{
	double mean = sum / nr, spread = (squares - sum * mean) / (nr > 1 ? nr - 1 : 1);

	return (struct moments){ mean, spread > 0 ? spread / nr : 0 };
}

static struct moments sample_moments(const double *values, u32 nr)
{
	double sum = 0, squares = 0;

	for (u32 i = 0; i < nr; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	return moments_of(sum, squares, nr);
}

/* Of nodes drawn with replacement. */
static struct moments redraw(const double *values, u32 nr, u64 *state)
{
	double sum = 0, squares = 0;

	for (u32 i = 0; i < nr; i++) {
		double v = values[(next_random(state) >> 32) * nr >> 32];
		sum += v;
		squares += v * v;
	}
	return moments_of(sum, squares, nr);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct moments subtract(struct moments after, struct moments before)
{
	return (struct moments){ after.mean - before.mean, after.variance + before.variance };
}

/*
 * A multiple of the standard error that holds the error of 95 % of the draws: the quantile of the
 * absolute deviation. Two groups of one kind of load differ symmetrically; the quantiles of each
 * tail alone only add noise, and held the truth in 92.4 % of the cases.
 */
static double find_limit(double *t, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		t[i] = fabs(t[i]);
	qsort(t, nr, sizeof(t[0]), by_value);
	return nr ? t[(u32)((double)nr * (1 - TAILS))] : 0;
}

/* A studentized bootstrap over nodes. */
static struct estimate interval(const struct estimate_groups *g)
{
	struct moments all = subtract(sample_moments(g->after, g->nr_after),
				      sample_moments(g->before, g->nr_before));
	u32 nr = 0, repeats = DRAWS / (g->nr_before + g->nr_after + 1);
	u64 state = 0x9e3779b97f4a7c15ull;
	double *t = xcalloc(REPEATS, sizeof(t[0]));

	repeats = repeats > REPEATS ? REPEATS : repeats < 200 ? 200 : repeats;
	for (u32 i = 0; i < repeats; i++) {
		struct moments before = redraw(g->before, g->nr_before, &state);
		struct moments drawn = subtract(redraw(g->after, g->nr_after, &state), before);
		if (drawn.variance > 0)
			t[nr++] = (drawn.mean - all.mean) / sqrt(drawn.variance);
	}
	double error = sqrt(all.variance) * find_limit(t, nr);
	free(t);
	return (struct estimate){ .total = all.mean,
				  .low = all.mean - error,
				  .high = all.mean + error,
				  .has_interval = true };
}

static double sum_of(const double *values, u32 nr)
{
	double sum = 0;

	for (u32 i = 0; i < nr; i++)
		sum += values[i];
	return sum;
}

double estimate_chance(double chance, double reach)
{
	if (reach >= 1)
		return chance;
	return fmin(1, chance < 1 ? chance * reach : 2 * reach);
}

static double weigh(const struct estimate_sample *s, double (*of)(const struct estimate_node *))
{
	double sum = 0;

	for (u32 i = 0; i < s->nr; i++)
		sum += of(&s->nodes[i]) / s->nodes[i].chance;
	return sum;
}

static double size_of(const struct estimate_node *n)
{
	return n->size;
}

static double value_of(const struct estimate_node *n)
{
	return n->value;
}

double estimate_factor(const struct estimate_fleet *f, const struct estimate_sample *s)
{
	double size = weigh(s, size_of);

	return size > 0 ? f->size / size : 1;
}

/*
 * The 95 % quantile of Student's distribution, by the expansion of Cornish and Fisher; exact to 1 %
 * from 4 degrees of freedom on.
 */
static double student_95(double freedom)
{
	const double z = 1.959964, z3 = z * z * z;

	return z + (z3 + z) / (4 * freedom) +
	       (5 * z3 * z * z + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

/* The variance of a part of the estimate, and the sums from which its degrees of freedom follow. */
struct spread {
	double variance, squares;
	u32 nr; /* nodes with a chance below 1: nodes that are certain add no variance */
};

static struct spread spread_of(const struct estimate_sample *s, double ratio, bool are_unknown)
{
	struct spread d = { 0 };

	for (u32 i = 0; i < s->nr; i++) {
		const struct estimate_node *n = &s->nodes[i];
		double residual = fmax(fabs(n->value - ratio * n->size), EXACT * ratio * n->size);
		double part = (1 - n->chance) * pow(residual / n->chance, 2);
		if (n->is_unknown != are_unknown)
			continue;
		d.variance += part;
		d.squares += part * part;
		d.nr += n->chance < 1;
	}
	return d;
}

/* Satterthwaite's degrees of freedom. */
static double freedom_of(const struct spread *a, const struct spread *b)
{
	double all = a->variance + b->variance, most = a->nr + b->nr > 2 ? a->nr + b->nr - 1 : 1;
	double freedom = a->squares + b->squares > 0 ? all * all / (a->squares + b->squares) : most;

	return fmin(most, fmax(3, freedom));
}

static void add_interval(const struct estimate_fleet *f, const struct estimate_sample *s,
			 double factor, struct estimate *e)
{
	double ratio = f->size > 0 ? e->total / f->size : 0;
	struct spread known = spread_of(s, ratio, false), unknown = spread_of(s, ratio, true);
	double t = student_95(freedom_of(&known, &unknown));
	double nr = known.nr + unknown.nr > 1 ? known.nr + unknown.nr : 2;
	double missed = f->nr_unknown ? 1 / s->unknown_chance - 1 : 0;
	double expected = f->nr_unknown * missed * f->variance * ratio * ratio;
	double error = sqrt((known.variance + fmax(unknown.variance, expected)) * nr / (nr - 1));

	double half = fmax(t * factor * error, LEAST_HALF * e->total);

	e->low = fmax(0, e->total - half);
	e->high = e->total + half;
	e->has_interval = true;
}

static enum estimate_fault fault_of(const struct estimate_fleet *f, const struct estimate_sample *s)
{
	if (s->nr < ESTIMATE_NODES && s->nr < f->nr)
		return ESTIMATE_FEW;
	if (s->nr_missing * 100 > (s->nr + s->nr_missing) * ESTIMATE_MISSING_PCT)
		return ESTIMATE_MISSING;
	return f->nr_unknown * 100 > f->nr * ESTIMATE_UNKNOWN_PCT ? ESTIMATE_UNKNOWN
								  : ESTIMATE_HAS_INTERVAL;
}

struct estimate estimate_total(const struct estimate_fleet *f, const struct estimate_sample *s)
{
	double factor = estimate_factor(f, s), least = weigh(s, value_of), heaviest = 0;
	struct estimate e = { .fault = fault_of(f, s) };

	for (u32 i = 0; i < s->nr; i++)
		heaviest = fmax(heaviest, s->nodes[i].value);
	e.total = e.low = e.high = factor * least;
	e.least = fmin(e.total, least);
	e.most = fmax(e.total, least + s->missing * heaviest);
	if (s->nr && !e.fault)
		add_interval(f, s, factor, &e);
	return e;
}

struct estimate estimate_difference(const struct estimate_groups *g)
{
	struct estimate e = { 0 };

	if (!g->nr_before || !g->nr_after)
		return e;
	if (g->nr_before >= ESTIMATE_NODES && g->nr_after >= ESTIMATE_NODES)
		return interval(g);
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
	/* Do not add 0.5 to round: that would round 2^53 - 1 up. */
	u64 rounded = exact >= 0x1p63 ? 1ull << 63 : exact > 0.5 ? (u64)round(exact) : 0;

	*carry = exact - (double)rounded;
	return rounded;
}

static void scale_hidden(struct profile *p, const struct scaled *all, double factor)
{
	size_t nr = p->hidden.nr;

	for (size_t i = 0; i < nr; i++) {
		struct hidden_total *h = &p->hidden.at[i];
		const struct scaled *s = &all[h->type];
		const struct frame f = { .name = h->name, .module = h->module, .kind = h->kind };
		u64 raw = h->value;
		double carry = 0;
		if (s->is_raw)
			continue;
		h->value = scale(raw, factor, &carry);
		if (!s->has_raw)
			profile_hide(p, &f, s->raw, raw);
	}
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
	scale_hidden(p, all, factor);
	for (u32 t = 0; t < nr && t < SCALE_TYPES; t++)
		carry[t] = all[t].carry;
	free(all);
}
