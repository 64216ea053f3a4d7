/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates from a sample of nodes, against fleets whose truth is known. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "fleet/controller/choice.h"
#include "fleet/controller/contrast.h"
#include "fleet/controller/estimate.h"
#include "fleet/controller/parts.h"

#define FLEET  10000
#define SAMPLE 200

static u64 state = 42;

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* CPU time of nodes: most do little, some very much, one in ten runs none of the service. */
static double node_load(void)
{
	return uniform() < 0.1 ? 0 : floor(3000 * exp(0.8 * normal()));
}

/* Without replacement. */
static void draw(double *fleet, double *sample)
{
	for (int i = 0; i < SAMPLE; i++) {
		int at = i + (int)(uniform() * (FLEET - i));
		double v = fleet[at];
		fleet[at] = fleet[i];
		sample[i] = fleet[i] = v;
	}
}

/* FLEET_DRAWS: how many; the whole proof has 1,000 (make bench-fleet). */
static int nr_draws(void)
{
	const char *text = getenv("FLEET_DRAWS");

	return text ? atoi(text) : 1000;
}

#define FLEET_NODES 2000 /* of the fleets below */

/* Each draw ranks all nodes: by default fewer. */
static int nr_fleet_draws(void)
{
	return getenv("FLEET_DRAWS") ? nr_draws() : 40;
}

enum kind {
	EVEN,
	LOGNORMAL_1,
	LOGNORMAL_15,
	LOGNORMAL_2,
	PARETO_13,
	IDLE_80,
	IDLE_95,
	IDLE_5,
	ONE_OF_200,
	ONE_OF_1000,
	NR_KINDS,
};

static const char *const kinds[NR_KINDS] = { "even",
					     "lognormal 1",
					     "lognormal 1.5",
					     "lognormal 2",
					     "Pareto 1.3",
					     "80 % idle",
					     "95 % idle",
					     "5 % idle, else saturated",
					     "1 of 200 has 50x",
					     "1 of 1,000 has 1,000x" };

static double load_of(enum kind k, int node)
{
	double even = 1 + 0.1 * normal();

	switch (k) {
	case LOGNORMAL_1:
		return exp(normal());
	case LOGNORMAL_15:
		return exp(1.5 * normal());
	case LOGNORMAL_2:
		return exp(2 * normal());
	case PARETO_13:
		return pow(1 - uniform(), -1 / 1.3);
	case IDLE_80:
		return uniform() < 0.8 ? 0 : 1 + 0.3 * normal();
	case IDLE_95:
		return uniform() < 0.95 ? 0 : 1 + 0.3 * normal();
	case IDLE_5:
		return uniform() < 0.05 ? 0 : 1;
	case ONE_OF_200:
		return node % 200 ? even : 50 * even;
	case ONE_OF_1000:
		return node % 1000 ? even : 1000 * even;
	default:
		return even;
	}
}

/* A fleet, as its census knows it, and a sample of it. */
struct drawing {
	struct gather census;
	struct gather_node *nodes;
	double *loads, truth;
	struct choice choice;
	struct estimate_node *sample;
	struct estimate_sample of;
};

/* The census is 20 % off, and does not know 5 % of the nodes. */
static void make_fleet(struct drawing *d, enum kind k, bool is_equal)
{
	static const u8 seed[FLEET_ID_LEN];

	d->truth = 0;
	d->census.nodes.nr = 0;
	for (int i = 0; i < FLEET_NODES; i++) {
		double load = fmax(0, load_of(k, i));
		u64 ppm = (u64)(load * exp(0.2 * normal()) * 1e6);
		d->nodes[i] = (struct gather_node){ .busy_ppm = uniform() < 0.05 ? 0 : ppm ?: 1 };
		d->loads[i] = load;
		d->truth += load;
		vec_push(&d->census.nodes, &d->nodes[i]);
	}
	choice_take(&d->choice, &d->census, seed, is_equal);
}

struct ranked {
	double rank;
	int node;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* As choice_plan, with hashes of our own, which are faster. A part fails. */
static void draw_nodes(struct drawing *d, u32 nr, double failing)
{
	struct ranked *all = calloc(FLEET_NODES, sizeof(all[0]));

	for (int i = 0; i < FLEET_NODES; i++) {
		double p = choice_chance(&d->choice, d->nodes[i].busy_ppm), hash = uniform();
		all[i] = (struct ranked){ p < 1 ? hash / p : hash / 2, i };
	}
	qsort(all, FLEET_NODES, sizeof(all[0]), by_rank);
	d->of = (struct estimate_sample){ .nodes = d->sample,
					  .unknown_chance = choice_chance(&d->choice, 0) };
	for (u32 i = 0; i < nr; i++) {
		u64 busy = d->nodes[all[i].node].busy_ppm;
		double p = choice_chance(&d->choice, busy);
		bool fails = uniform() < failing;
		d->of.nr_missing += fails;
		d->of.missing += fails ? 1 / p : 0;
		if (!fails)
			d->sample[d->of.nr++] =
				(struct estimate_node){ .value = d->loads[all[i].node],
							.size = choice_size(&d->choice, busy),
							.chance = p,
							.is_unknown = !busy };
	}
	free(all);
}

struct cell {
	u32 nr_stated, nr_held;
	double width, bias; /* in mean, of the truth */
};

/* A new fleet for every other draw. */
static struct cell try_draws(enum kind k, u32 nr, double failing, bool is_equal)
{
	int draws = nr_fleet_draws();
	struct drawing d = { .nodes = calloc(FLEET_NODES, sizeof(d.nodes[0])),
			     .loads = calloc(FLEET_NODES, sizeof(d.loads[0])),
			     .sample = calloc(nr, sizeof(d.sample[0])) };
	struct cell c = { 0 };

	for (int i = 0; i < draws; i++) {
		if (i % 2 == 0) {
			make_fleet(&d, k, is_equal);
			choice_plan(&d.choice, nr, false);
		}
		draw_nodes(&d, nr, failing);
		struct estimate e = estimate_total(&d.choice.fleet, &d.of);
		c.bias += (e.total / d.truth - 1) / draws;
		if (!e.has_interval)
			continue;
		assert_true(e.low <= e.total && e.total <= e.high);
		c.nr_stated++;
		c.nr_held += e.low <= d.truth && d.truth <= e.high;
		c.width += (e.high - e.low) / 2 / d.truth;
	}
	c.width /= c.nr_stated ?: 1;
	vec_fini(&d.census.nodes);
	free(d.nodes);
	free(d.loads);
	free(d.sample);
	return c;
}

static void intervals_hold_in_uneven_fleets(void **ctx)
{
	static const u32 sizes[] = { 30, 50, 100, 200, 1000 };

	for (int k = 0; k < NR_KINDS; k++) {
		printf("# %-26s", kinds[k]);
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct cell c = try_draws(k, sizes[i], 0, false);
			printf(" %5.1f %% +-%4.1f", 100.0 * c.nr_held / c.nr_stated, 100 * c.width);
			/* With 40 draws 93 % is missed by chance. */
			assert_int_equal(c.nr_stated, nr_fleet_draws());
			assert_true(c.nr_held >=
				    nr_fleet_draws() * (nr_fleet_draws() < 1000 ? 0.84 : 0.93));
		}
		printf("\n");
	}
}

/* A total of failed nodes is no zero. With more than 2 % there is no interval. */
static void failures_do_not_lower_the_estimate(void **ctx)
{
	for (int k = 0; k < NR_KINDS; k++) {
		struct cell few = try_draws(k, 200, 0.01, false);
		struct cell some = try_draws(k, 200, 0.1, false);
		printf("# %-26s 1 %% fail: %5.1f %% of %u hold; 10 %% fail: bias %+.1f %%\n",
		       kinds[k], 100.0 * few.nr_held / (few.nr_stated ?: 1), few.nr_stated,
		       100 * some.bias);
		assert_true(few.nr_held >= few.nr_stated * (nr_fleet_draws() < 1000 ? 0.84 : 0.93));
		assert_true(some.nr_stated * 50 <= (u32)nr_fleet_draws());
		assert_true(fabs(some.bias) < 0.05);
	}
}

/*
 * Of each node's load, a part is a method's: none in most nodes, if `spread` is small. Nodes with
 * samples of it are counted as parts.c does.
 */
static void give_to_method(struct drawing *d, double spread)
{
	d->truth = 0;
	for (int i = 0; i < FLEET_NODES; i++) {
		d->loads[i] *= uniform() < spread ? 0.1 + 0.2 * uniform() : 0;
		d->truth += d->loads[i];
	}
}

static void methods_of_few_nodes_have_no_interval_that_fails(void **ctx)
{
	static const double spreads[] = { 1, 0.2, 0.05, 0.02 };
	struct drawing d = { .nodes = calloc(FLEET_NODES, sizeof(d.nodes[0])),
			     .loads = calloc(FLEET_NODES, sizeof(d.loads[0])),
			     .sample = calloc(1000, sizeof(d.sample[0])) };

	for (size_t k = 0; k < ARRAY_SIZE(spreads); k++)
		for (u32 nr = 50; nr <= 200; nr *= 2) {
			int nr_stated = 0, nr_held = 0;
			for (int i = 0; i < nr_fleet_draws(); i++) {
				u32 nr_seen = 0;
				make_fleet(&d, LOGNORMAL_1, false);
				choice_plan(&d.choice, nr, false);
				give_to_method(&d, spreads[k]);
				draw_nodes(&d, nr, 0);
				for (u32 n = 0; n < d.of.nr; n++)
					nr_seen += d.sample[n].value > 0;
				struct estimate e = estimate_total(&d.choice.fleet, &d.of);
				nr_stated += nr_seen >= PARTS_NODES;
				nr_held += nr_seen >= PARTS_NODES && e.low <= d.truth &&
					   d.truth <= e.high;
			}
			printf("# in %3.0f %% of the nodes, %3u chosen: %d of %d stated intervals "
			       "hold\n",
			       100 * spreads[k], nr, nr_held, nr_stated);
			assert_true(nr_held >= nr_stated * 0.9);
			assert_true(spreads[k] < 0.2 || nr < 100 ||
				    nr_stated > nr_fleet_draws() / 2);
		}
	vec_fini(&d.census.nodes);
	free(d.nodes);
	free(d.loads);
	free(d.sample);
}

static void equal_chances_have_no_interval(void **ctx)
{
	assert_int_equal(try_draws(EVEN, 200, 0, true).nr_stated, 0);
}

static void exactly_as_many_nodes_as_wanted_take_part(void **ctx)
{
	struct drawing d = { .nodes = calloc(FLEET_NODES, sizeof(d.nodes[0])),
			     .loads = calloc(FLEET_NODES, sizeof(d.loads[0])) };
	u8 seed[FLEET_ID_LEN] = { 0 };
	double seen = 0, due = 0;

	make_fleet(&d, LOGNORMAL_2, false);
	for (int i = 0; i < FLEET_NODES; i++)
		snprintf(d.nodes[i].name, sizeof(d.nodes[i].name), "n%d", i);
	for (int draw = 0; draw < 20; draw++) {
		u32 nr = 0;
		seed[0] = (u8)(draw + 1);
		choice_take(&d.choice, &d.census, seed, false);
		choice_plan(&d.choice, 200, true);
		assert_int_equal(d.choice.nr_waves, 3);
		d.choice.sampling.to_rank = d.choice.waves[2].to_rank;
		for (int i = 0; i < FLEET_NODES; i++) {
			u64 busy = d.nodes[i].busy_ppm;
			bool takes = sampling_takes(&d.choice.sampling, d.nodes[i].name, busy);
			double p = choice_chance(&d.choice, busy);
			nr += takes;
			assert_true(p < 1 || takes);
			seen += takes && p < 0.02;
			due += p < 0.02 ? p : 0;
		}
		assert_int_equal(nr, 200);
	}
	assert_true(seen > 0.9 * due && seen < 1.1 * due);
	vec_fini(&d.census.nodes);
	free(d.nodes);
	free(d.loads);
}

static void a_wave_that_was_the_last_has_smaller_chances(void **ctx)
{
	assert_true(estimate_chance(0.5, 1) == 0.5);
	assert_true(estimate_chance(0.5, 0.1) == 0.05);
	assert_true(estimate_chance(1, 0.1) == 0.2);
	assert_true(estimate_chance(1, 0.7) == 1);
}

static void scaling_keeps_totals_and_raw_counts(void **ctx)
{
	struct profile *p = profile_new();
	u32 cpu = profile_add_type(p, "cpu", "samples");
	double carry[SCALE_TYPES] = { 0 };

	for (int i = 0; i < 1000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%d", i);
		profile_add(p,
			    profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, name, "")),
			    profile_intern_labels(p, &(struct labels){ 0 }), cpu, 1);
	}
	profile_scale(p, 1.25, carry);
	assert_int_equal(p->types.nr, 2);
	assert_string_equal(p->types.at[1].name, "cpu-samples");
	assert_int_equal(profile_total(p, 0), 1250);
	assert_int_equal(profile_total(p, 1), 1000);
	profile_scale(p, 2, carry); /* the raw counts stay */
	assert_int_equal(profile_total(p, 0), 2500);
	assert_int_equal(profile_total(p, 1), 1000);
	profile_free(p);
}

static void the_largest_value_stays_as_it_is(void **state)
{
	double carry[SCALE_TYPES] = { 0 };
	struct profile *p = profile_new();
	u32 cpu = profile_add_type(p, "cpu", "samples");

	profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "a", "")),
		    profile_intern_labels(p, &(struct labels){ 0 }), cpu, (1ull << 53) - 1);
	profile_scale(p, 1, carry);
	assert_int_equal(profile_total(p, 0), (1ull << 53) - 1);
	profile_free(p);
}

/* Two draws of one fleet, the second with `more` in each node. */
static void differences_are_found_and_their_intervals_hold(void **ctx)
{
	double *fleet = calloc(FLEET, sizeof(fleet[0])), before[SAMPLE], after[SAMPLE];
	const double more = 500;
	int nr = nr_draws() / 2, covered = 0;
	double sum = 0;

	for (int i = 0; i < FLEET; i++)
		fleet[i] = node_load();
	for (int i = 0; i < nr; i++) {
		draw(fleet, before);
		draw(fleet, after);
		for (int n = 0; n < SAMPLE; n++)
			after[n] += more;
		const struct estimate_groups g = { before, after, SAMPLE, SAMPLE };
		struct estimate e = estimate_difference(&g);
		assert_true(e.has_interval);
		sum += e.total;
		covered += e.low <= more && more <= e.high;
	}
	printf("# %d draws: difference %.0f, %.1f %% of the intervals hold %.0f\n", nr, sum / nr,
	       100.0 * covered / nr, more);
	assert_true(fabs(sum / nr - more) < 60);
	assert_true(covered >= nr * 0.93);
	free(fleet);
}

#define NODES   64
#define METHODS 150

/* The nodes on one side of a comparison: merged profile, sums by method, totals of each node. */
struct group {
	struct profile *p;
	struct node_table table;
	struct merge_total totals[NODES];
	u32 nr;
};

static void group_init(struct group *g)
{
	*g = (struct group){ .p = profile_new() };
	profile_add_type(g->p, "cpu", "samples");
}

static void group_fini(struct group *g)
{
	node_table_fini(&g->table);
	profile_free(g->p);
}

static struct contrast_side side_of(const struct group *g)
{
	return (struct contrast_side){ g->p, 0, g->totals, g->nr, true, &g->table };
}

/* To the last node. */
static void add_method(struct group *g, const char *method, u64 value)
{
	const struct node_row row = { g->nr - 1, node_table_text(&g->table, "cpu/samples"),
				      node_table_text(&g->table, method), NODE_ROW_METHOD, value };

	vec_push(&g->table.rows, row);
	g->totals[g->nr - 1].raw += value;
}

/* A group of `nr` nodes that spend `hot` of 100 samples in one method; every other one 2 more. */
static void make_group(struct group *g, u32 nr, u64 hot)
{
	group_init(g);
	while (g->nr < nr) {
		u64 more = g->nr++ % 2 * 2;
		add_method(g, "hot", hot + more);
		add_method(g, "cold", 100 - hot - more);
	}
}

static void methods_of_two_groups_have_intervals_over_nodes(void **ctx)
{
	struct group before, after;
	struct contrast c;

	make_group(&before, 30, 20);
	make_group(&after, 40, 29);
	const struct contrast_side b = side_of(&before), a = side_of(&after);
	contrast_make(&b, &a, 2, &c);
	assert_true(c.has_nodes && c.has_sums);
	assert_int_equal(c.nr_before, 30);
	assert_int_equal(c.nr_after, 40);
	assert_true(fabs(c.change.total) < 1e-9);
	assert_int_equal(c.methods.nr, 2);
	const struct contrast_method *m = &c.methods.at[strcmp(c.methods.at[0].name, "hot") != 0];
	assert_true(fabs(m->before - 0.21) < 1e-9 && fabs(m->after - 0.30) < 1e-9);
	assert_true(m->change.has_interval);
	assert_true(m->change.low > 0.08 && m->change.low < 0.09);
	assert_true(m->change.high > 0.09 && m->change.high < 0.10);
	contrast_fini(&c);
	group_fini(&before);
	group_fini(&after);
}

/*
 * A group of nodes. Their loads, and the shares of their methods, are random. In each node `more`
 * percent of the load are added to method 10.
 */
static void make_busy_group(struct group *g, double more)
{
	double all = 0;

	group_init(g);
	for (int m = 0; m < METHODS; m++)
		all += 1.0 / (m + 3);
	while (g->nr < NODES) {
		double load = 1000 * exp(0.6 * normal());
		g->nr++;
		for (int m = 0; m < METHODS; m++) {
			char name[16];
			double due = load * (1.0 / (m + 3) / all * exp(0.4 * normal()) +
					     (m == 10 ? more / 100 : 0));
			double value = due + sqrt(due) * normal();
			snprintf(name, sizeof(name), "m%d", m);
			if (value > 0.5)
				add_method(g, name, (u64)(value + 0.5));
		}
	}
}

/* Compares a group without an addition with another one. Returns how many methods differ. */
static u32 compare_busy_groups(double more, bool *is_found)
{
	struct group before, after;
	struct contrast c;

	make_busy_group(&before, 0);
	make_busy_group(&after, more);
	const struct contrast_side b = side_of(&before), a = side_of(&after);
	contrast_make(&b, &a, 1, &c);
	u32 nr = c.nr_changed;
	assert_int_equal(c.nr_compared, METHODS);
	*is_found = !strcmp(c.methods.at[0].name, "m10") && !c.methods.at[0].is_chance;
	contrast_fini(&c);
	group_fini(&before);
	group_fini(&after);
	return nr;
}

static void the_largest_of_many_changes_may_be_chance(void **ctx)
{
	int nr = nr_draws() / 25, nr_alarms = 0, nr_found = 0;
	bool is_found;

	for (int i = 0; i < nr; i++) {
		nr_alarms += compare_busy_groups(0, &is_found) > 0;
		compare_busy_groups(2, &is_found);
		nr_found += is_found;
	}
	printf("# %d pairs: a change in %.1f %% where nothing has changed, 2 points found in %.1f "
	       "%%\n",
	       nr, 100.0 * nr_alarms / nr, 100.0 * nr_found / nr);
	assert_true(nr_alarms <= nr * 0.05 + 3 * sqrt(nr * 0.05));
	assert_true(nr_found >= nr * 0.9);
}

static void without_a_table_of_nodes_methods_have_no_intervals(void **ctx)
{
	struct group g;
	struct contrast c;

	make_group(&g, 40, 20);
	const struct contrast_side b = side_of(&g);
	struct contrast_side a = b;
	a.table = NULL;
	contrast_make(&b, &a, 10, &c);
	assert_false(c.has_nodes);
	assert_int_equal(c.methods.nr, 0);
	assert_true(c.has_sums && c.mean_before == 100 && c.change.has_interval);
	contrast_fini(&c);
	a.sums_are_known = false;
	contrast_make(&b, &a, 10, &c);
	assert_false(c.has_sums);
	contrast_fini(&c);
	group_fini(&g);
}

static void a_comparison_uses_values_as_they_were_recorded(void **ctx)
{
	struct profile *p = profile_new();
	double carry[SCALE_TYPES] = { 0 };
	u32 type = profile_add_type(p, "cpu", "samples");

	profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "hot", "")),
		    profile_intern_labels(p, &(struct labels){ 0 }), 0, 7);
	contrast_use_raw(p, &type);
	assert_int_equal(type, 0);
	profile_scale(p, 3, carry);
	contrast_use_raw(p, &type);
	assert_int_equal(profile_total(p, type), 7);
	assert_string_equal(p->types.at[type].name, "cpu");
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_in_uneven_fleets),
		cmocka_unit_test(failures_do_not_lower_the_estimate),
		cmocka_unit_test(methods_of_few_nodes_have_no_interval_that_fails),
		cmocka_unit_test(equal_chances_have_no_interval),
		cmocka_unit_test(exactly_as_many_nodes_as_wanted_take_part),
		cmocka_unit_test(a_wave_that_was_the_last_has_smaller_chances),
		cmocka_unit_test(scaling_keeps_totals_and_raw_counts),
		cmocka_unit_test(the_largest_value_stays_as_it_is),
		cmocka_unit_test(differences_are_found_and_their_intervals_hold),
		cmocka_unit_test(methods_of_two_groups_have_intervals_over_nodes),
		cmocka_unit_test(the_largest_of_many_changes_may_be_chance),
		cmocka_unit_test(without_a_table_of_nodes_methods_have_no_intervals),
		cmocka_unit_test(a_comparison_uses_values_as_they_were_recorded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
