/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates from a sample of nodes, against fleets whose truth is known. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "fleet/controller/contrast.h"
#include "fleet/controller/estimate.h"

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

static void estimates_are_unbiased_and_intervals_hold(void **ctx)
{
	double *fleet = calloc(FLEET, sizeof(fleet[0])), sample[SAMPLE], truth = 0, sum = 0;
	int nr = nr_draws(), covered = 0;

	for (int i = 0; i < FLEET; i++)
		truth += fleet[i] = node_load();
	for (int i = 0; i < nr; i++) {
		draw(fleet, sample);
		struct estimate e = estimate_total(sample, SAMPLE, FLEET);
		assert_true(e.has_interval);
		assert_true(e.low <= e.total && e.total <= e.high);
		sum += e.total;
		covered += e.low <= truth && truth <= e.high;
	}
	double bias = sum / nr / truth - 1, share = 100.0 * covered / nr;
	printf("# %d draws: bias %+.2f %%, %.1f %% of the intervals hold the truth\n", nr,
	       100 * bias, share);
	assert_true(fabs(bias) <= 0.005);
	assert_true(share >= 93 && share <= 97);
	free(fleet);
}

static void the_whole_fleet_has_no_uncertainty(void **ctx)
{
	double values[40];

	for (int i = 0; i < 40; i++)
		values[i] = i;
	struct estimate e = estimate_total(values, 40, 40);
	assert_true(e.total == 780 && e.low == 780 && e.high == 780 && e.has_interval);
	e = estimate_total(values, 3, 3);
	assert_true(e.total == 3 && e.has_interval);
}

static void fewer_than_30_nodes_have_no_interval(void **ctx)
{
	double values[30] = { 1, 2, 3 };

	struct estimate e = estimate_total(values, 29, 290);
	assert_false(e.has_interval);
	assert_true(fabs(e.total - 60) < 1e-9);
	assert_true(estimate_total(values, 30, 300).has_interval);
	assert_false(estimate_total(values, 0, 300).has_interval);
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
	assert_true(covered >= nr * 0.93 && covered <= nr * 0.97);
	free(fleet);
}

static void add_node(struct profile *p, const char *node, const char *method, u64 value)
{
	char tags[64];
	frame_id frame = frames_intern(p->frames, FRAME_NATIVE, method, "");

	snprintf(tags, sizeof(tags), "node=%s, zone=a", node);
	profile_add(p, profile_child(p, 0, frame),
		    profile_intern_labels(p, &(struct labels){ .tags = tags }), 0, value);
}

/* A group of `nr` nodes that spend `hot` of 100 samples in one method; every other one 2 more. */
static struct profile *make_group(u32 nr, u64 hot, struct merge_total *totals)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	for (u32 i = 0; i < nr; i++) {
		snprintf(totals[i].node, sizeof(totals[i].node), "n%u", i);
		add_node(p, totals[i].node, "hot", hot + i % 2 * 2);
		add_node(p, totals[i].node, "cold", 100 - hot - i % 2 * 2);
		totals[i].raw = 100;
	}
	return p;
}

static void methods_of_two_groups_have_intervals_over_nodes(void **ctx)
{
	struct merge_total before_totals[30] = { 0 }, after_totals[40] = { 0 };
	struct profile *before = make_group(30, 20, before_totals);
	struct profile *after = make_group(40, 29, after_totals);
	const struct contrast_side b = { before, 0, before_totals, 30, true };
	const struct contrast_side a = { after, 0, after_totals, 40, true };
	struct contrast c;

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
	profile_free(before);
	profile_free(after);
}

#define NODES   64
#define METHODS 150

/*
 * A group of nodes. Their loads, and the shares of their methods, are random. In each node `more`
 * percent of the load are added to method 10.
 */
static struct profile *make_busy_group(double more, struct merge_total *totals)
{
	struct profile *p = profile_new();
	double all = 0;

	profile_add_type(p, "cpu", "samples");
	for (int m = 0; m < METHODS; m++)
		all += 1.0 / (m + 3);
	for (u32 i = 0; i < NODES; i++) {
		double load = 1000 * exp(0.6 * normal());
		u64 sum = 0;
		snprintf(totals[i].node, sizeof(totals[i].node), "n%u", i);
		for (int m = 0; m < METHODS; m++) {
			char name[16];
			double due = load * (1.0 / (m + 3) / all * exp(0.4 * normal()) +
					     (m == 10 ? more / 100 : 0));
			double value = due + sqrt(due) * normal();
			u64 rounded = value > 0.5 ? (u64)(value + 0.5) : 0;
			snprintf(name, sizeof(name), "m%d", m);
			if (rounded)
				add_node(p, totals[i].node, name, rounded);
			sum += rounded;
		}
		totals[i].raw = sum;
	}
	return p;
}

/* Compares a group without an addition with another one. Returns how many methods differ. */
static u32 compare_busy_groups(double more, bool *is_found)
{
	struct merge_total before_totals[NODES] = { 0 }, after_totals[NODES] = { 0 };
	struct profile *before = make_busy_group(0, before_totals);
	struct profile *after = make_busy_group(more, after_totals);
	const struct contrast_side b = { before, 0, before_totals, NODES, true };
	const struct contrast_side a = { after, 0, after_totals, NODES, true };
	struct contrast c;

	contrast_make(&b, &a, 1, &c);
	u32 nr = c.nr_changed;
	assert_int_equal(c.nr_compared, METHODS);
	*is_found = !strcmp(c.methods.at[0].name, "m10") && !c.methods.at[0].is_chance;
	contrast_fini(&c);
	profile_free(before);
	profile_free(after);
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

static void samples_without_a_node_leave_methods_without_intervals(void **ctx)
{
	struct merge_total totals[40] = { 0 };
	struct profile *p = make_group(40, 20, totals);
	const struct contrast_side b = { p, 0, totals, 40, true };
	struct contrast_side a = b;
	struct contrast c;

	add_node(p, "of-nobody", "hot", 1);
	contrast_make(&b, &a, 10, &c);
	assert_false(c.has_nodes);
	assert_int_equal(c.methods.nr, 0);
	assert_true(c.has_sums && c.mean_before == 100 && c.change.has_interval);
	contrast_fini(&c);
	a.sums_are_known = false;
	contrast_make(&b, &a, 10, &c);
	assert_false(c.has_sums);
	contrast_fini(&c);
	profile_free(p);
}

static void a_comparison_uses_values_as_they_were_recorded(void **ctx)
{
	struct profile *p = profile_new();
	double carry[SCALE_TYPES] = { 0 };
	u32 type = profile_add_type(p, "cpu", "samples");

	add_node(p, "a", "hot", 7);
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
		cmocka_unit_test(estimates_are_unbiased_and_intervals_hold),
		cmocka_unit_test(the_whole_fleet_has_no_uncertainty),
		cmocka_unit_test(fewer_than_30_nodes_have_no_interval),
		cmocka_unit_test(scaling_keeps_totals_and_raw_counts),
		cmocka_unit_test(differences_are_found_and_their_intervals_hold),
		cmocka_unit_test(methods_of_two_groups_have_intervals_over_nodes),
		cmocka_unit_test(the_largest_of_many_changes_may_be_chance),
		cmocka_unit_test(samples_without_a_node_leave_methods_without_intervals),
		cmocka_unit_test(a_comparison_uses_values_as_they_were_recorded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
