/* SPDX-License-Identifier: Apache-2.0 */
/* Which values are compared, and whether a difference may be chance. */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "export/export.h"
#include "export/read.h"
#include "export/writers/text.h"
#include "profile/count.h"
#include "profile/diff.h"

/* Allocations as in a recording: bytes, and the number of samples behind them. */
static u64 random_state = 20261128;

static u64 random_below(u64 end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % end;
}

static struct profile *allocations(u64 nr_a, u64 bytes_a, u64 nr_b, u64 bytes_b)
{
	struct profile *p = profile_new();
	labels_id none = profile_intern_labels(p, &(struct labels){ 0 });
	node_id a = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "a", ""));
	node_id b = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "b", ""));

	profile_add_type(p, "alloc", "bytes");
	profile_add_type(p, "alloc-samples", "samples");
	profile_add(p, a, none, 0, bytes_a);
	profile_add(p, a, none, 1, nr_a);
	profile_add(p, b, none, 0, bytes_b);
	profile_add(p, b, none, 1, nr_b);
	return p;
}

struct world {
	struct profile *before, *after;
	struct diff_types types;
	struct str others, why;
};

static int choose(struct world *w, const char *event)
{
	str_clear(&w->others);
	str_clear(&w->why);
	return diff_choose(w->before, w->after, event, &w->types, &w->others, &w->why);
}

static void world_fini(struct world *w)
{
	profile_free(w->before);
	profile_free(w->after);
	str_fini(&w->others);
	str_fini(&w->why);
}

static void the_requested_type_is_compared(void **state)
{
	struct world w = { allocations(2, 3, 5, 7), allocations(11, 13, 17, 19) };

	assert_int_equal(choose(&w, "alloc-samples"), 0);
	assert_int_equal(w.types.before, 1);
	assert_int_equal(w.types.after, 1);
	assert_string_equal(w.others.at, "alloc/bytes");
	assert_int_equal(choose(&w, NULL), 0);
	assert_int_equal(w.types.after, 0);
	assert_int_equal(w.types.before, 0);
	assert_int_equal(choose(&w, "alloc"), 0);
	assert_int_equal(w.types.after, 0);
	assert_int_equal(choose(&w, "alloc/bytes"), 0);
	assert_int_equal(w.types.before, 0);
	assert_int_equal(w.others.len, 0);
	assert_int_equal(choose(&w, "alloc/ns"), -EINVAL);
	assert_string_equal(w.why.at, "alloc/ns is not in both: alloc/bytes, alloc-samples/samples "
				      "and alloc/bytes, alloc-samples/samples");
	world_fini(&w);
}

static void types_with_one_name_are_distinguished(void **state)
{
	struct world w = { profile_new(), profile_new() };

	profile_add_type(w.before, "cpu", "ns");
	profile_add_type(w.before, "cpu", "samples");
	profile_add_type(w.after, "pmu/event=1,name=cpu/", "samples");
	assert_int_equal(choose(&w, NULL), -EINVAL);
	assert_string_equal(w.why.at, "they count different things: cpu/ns, cpu/samples and "
				      "pmu/event=1,name=cpu//samples");
	profile_add_type(w.after, "cpu", "ns");
	profile_add_type(w.after, "cpu", "samples");
	assert_int_equal(choose(&w, "cpu"), 0);
	assert_int_equal(w.types.before, 1);
	assert_int_equal(choose(&w, "cpu/ns"), 0);
	assert_int_equal(w.types.before, 0);
	assert_int_equal(w.types.after, 1);
	profile_add_type(w.before, "pmu/event=1,name=cpu/", "samples");
	assert_int_equal(choose(&w, "pmu/event=1,name=cpu/"), 0);
	assert_int_equal(w.types.before, 2);
	world_fini(&w);
}

static void add_weight(struct profile *p, u32 type, u64 value)
{
	labels_id none = profile_intern_labels(p, &(struct labels){ 0 });

	profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", "")), none,
		    type, value);
}

/* Like Go's heap: the default type of its file comes first. */
static struct profile *heap(u64 inuse, u64 objects)
{
	struct profile *p = profile_new();

	profile_add_type(p, "inuse_space", "bytes");
	profile_add_type(p, "alloc_objects", "count");
	profile_add_type(p, "samples", "samples");
	add_weight(p, 0, inuse);
	add_weight(p, 1, objects);
	add_weight(p, 2, 5);
	return p;
}

static void the_type_that_both_show_first_is_compared(void **state)
{
	struct world w = { heap(3, 7), heap(5, 11) };

	assert_int_equal(choose(&w, NULL), 0);
	assert_int_equal(w.types.before, 0);
	assert_int_equal(w.types.after, 0);
	profile_move_type_first(w.after, 1);
	assert_int_equal(choose(&w, NULL), 0);
	assert_int_equal(w.types.before, 2);
	world_fini(&w);
}

static void a_type_that_is_0_in_both_is_compared_only_on_request(void **state)
{
	struct world w = { heap(0, 7), heap(0, 11) };

	assert_int_equal(choose(&w, NULL), 0);
	assert_int_equal(w.types.before, 2);
	assert_int_equal(choose(&w, "inuse_space"), 0);
	assert_int_equal(w.types.before, 0);
	world_fini(&w);
}

static void objects_are_not_samples_that_decide_about_chance(void **state)
{
	struct profile *p = heap(3, 7);
	u32 type;

	assert_false(count_find(p, 1, &type));
	profile_free(p);
}

static void samples_of_cpu_time_are_compared_by_any_of_their_names(void **state)
{
	struct world w = { profile_new(), profile_new() };

	profile_add_type(w.before, "cpu-clock", "ns");
	profile_add_type(w.before, "cpu-clock-samples", "samples");
	profile_add_type(w.after, "alloc-samples", "samples");
	assert_int_equal(choose(&w, NULL), -EINVAL);
	profile_add_type(w.after, "cpu", "samples");
	assert_int_equal(choose(&w, NULL), 0);
	assert_int_equal(w.types.before, 1);
	assert_int_equal(w.types.after, 1);
	world_fini(&w);
}

/* Compares by bytes and returns the text, through a page if `by_page`. */
static char *compared(struct world *w, bool by_page)
{
	struct profile *out = profile_new(), *back = profile_new();
	char *text, *page;
	size_t len, page_len;
	FILE *f = open_memstream(&text, &len), *to_page = open_memstream(&page, &page_len);
	auto_str struct str why = { 0 };

	assert_int_equal(choose(w, "alloc"), 0);
	profile_diff(w->before, w->after, &w->types, out);
	assert_int_equal(html_write(out, to_page), 0);
	fclose(to_page);
	FILE *in = fmemopen(page, page_len, "r");
	assert_int_equal(profile_read(in, back, &why), 0);
	fclose(in);
	text_diff(by_page ? back : out, TEXT_DIFF_CHANGED, 9, TEXT_ANY_WIDTH, f);
	fclose(f);
	free(page);
	profile_free(out);
	profile_free(back);
	return text;
}

static void assert_told(struct world *w, const char *a, const char *end)
{
	for (int by_page = 0; by_page < 2; by_page++) {
		char *text = compared(w, by_page);
		if (!strstr(text, a) || !strstr(text, end))
			fail_msg("'%s' or '%s' is not in:\n%s", a, end, text);
		free(text);
	}
	world_fini(w);
}

static struct profile *counted(const char *name, const char *unit)
{
	struct profile *p = profile_new();

	profile_add_type(p, name, unit);
	profile_add_type(p, "cycles-samples", "samples");
	return p;
}

static void cycles_are_compared_with_cycles_but_not_with_time(void **state)
{
	struct world w = { profile_new(), counted("cycles", "events") };

	profile_add_type(w.before, "cpu", "samples");
	assert_int_equal(choose(&w, NULL), -EINVAL);
	assert_string_equal(w.why.at, "they count different things: cpu/samples and "
				      "cycles/events, cycles-samples/samples; cycles are no time: "
				      "record the same event for both");
	assert_int_equal(choose(&w, "cpu"), -EINVAL);
	profile_free(w.before);
	w.before = counted("cpu-cycles", "cycles"); /* those after are of perf script */
	assert_int_equal(choose(&w, "cycles/events"), 0);
	assert_int_equal(w.types.before, 0);
	assert_int_equal(choose(&w, NULL), 0);
	assert_int_equal(w.types.before, 0);
	assert_int_equal(w.types.after, 0);
	world_fini(&w);
}

static void bytes_of_few_samples_differ_by_chance(void **state)
{
	struct world few = { allocations(5, 5000000, 1000, 1000000000),
			     allocations(8, 8000000, 1000, 1000000000) };
	struct world many = { allocations(500, 500000000, 1000, 1000000000),
			      allocations(800, 800000000, 1000, 1000000000) };

	assert_told(&few, "1.00 GB before, 1.01 GB after (bytes)",
		    "2 more differ by no more than chance");
	assert_told(&many, "  a\n", "  b\n");
}

/* Like lock in a recording: time, optionally the samples, and the waits that these stand for. */
static struct profile *waits(const char *const *counts, u64 nr)
{
	struct profile *p = profile_new();
	labels_id none = profile_intern_labels(p, &(struct labels){ 0 });
	node_id f = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", ""));
	node_id g = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "g", ""));

	profile_add_type(p, "alloc", "ns"); /* `compared` selects this name */
	profile_add(p, f, none, 0, 1000000);
	profile_add(p, g, none, 0, nr * 1000);
	for (u32 i = 0; i < 2 && counts[i]; i++) {
		u32 type = profile_add_type(p, counts[i], strrchr(counts[i], '-') + 1);
		profile_add(p, f, none, type, 1000);
		profile_add(p, g, none, type, i ? 100 * nr : nr);
	}
	return p;
}

static void only_samples_or_waits_decide_about_chance(void **state)
{
	const char *const lists[][2] = { { "alloc-samples", "alloc-waits" }, { "alloc-waits" } };
	const char *const others[][2] = { { NULL }, { "alloc-bytes" }, { "other-samples" } };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct world w = { waits(lists[i], 1), waits(lists[i], 2) };
		assert_told(&w, "by change of self\n", "2 more differ by no more than chance");
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct world w = { waits(others[i], 1), waits(others[i], 2) };
		assert_told(&w, "by change of self; chance unknown", "   g\n");
	}
}

static void losses_of_either_side_are_reported(void **state)
{
	struct world w = { allocations(5, 5000, 1000, 1000), allocations(5, 5000, 1000, 1000) };

	profile_note(w.before, "samples", "samples taken", 1005);
	profile_note(w.before, "lost", "samples lost", 3);
	profile_note(w.before, "frozen", "stacks (cut)", 0);
	profile_note(w.after, "lost", "samples lost", 1234567);
	profile_note(w.after, "throttled", "of them because so many", 7);
	profile_note(w.after, "frozen", "stacks (cut)", 0);
	char *text = compared(&w, true);
	const char *notes = strchr(strstr(text, "nothing differs"), '\n');
	assert_string_equal(notes, "\n3 before, 1234567 after: samples lost\n"
				   "0 before, 7 after: of them because so many\n");
	free(text);
	world_fini(&w);
}

static char *drawn(struct profile *before, struct profile *after, const char *event)
{
	struct world w = { before, after };
	struct profile *out = profile_new();
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(choose(&w, event), 0);
	profile_diff(w.before, w.after, &w.types, out);
	assert_int_equal(svg_write(out, f), 0);
	fclose(f);
	profile_free(out);
	world_fini(&w);
	return text;
}

static int nr_of(const char *text, const char *what)
{
	int nr = 0;

	while ((text = strstr(text, what)) != NULL) {
		text++;
		nr++;
	}
	return nr;
}

static void a_picture_has_the_same_rule(void **state)
{
	const char *const samples[2] = { "alloc-samples" }, *const nothing[2] = { NULL };
	char *few = drawn(waits(samples, 1), waits(samples, 2), "alloc");
	char *many = drawn(waits(samples, 1000), waits(samples, 2000), "alloc");
	char *unknown = drawn(waits(nothing, 1), waits(nothing, 2), "alloc");

	assert_int_equal(nr_of(few, "within chance"), 3); /* all, f, g */
	assert_int_equal(nr_of(many, "within chance"), 1);
	assert_int_equal(nr_of(unknown, "within chance"), 0);
	assert_int_equal(nr_of(few, ">same or chance<"), 1);
	assert_int_equal(nr_of(unknown, ">same (chance unknown)<"), 1);
	free(few);
	free(many);
	free(unknown);
}

static void hits_are_counted_by_samples_or_themselves(void **state)
{
	struct profile *p = profile_new();
	u32 count;

	profile_add_type(p, "sched:sched_switch", "hits");
	assert_true(count_find(p, 0, &count));
	assert_int_equal(count, 0);
	profile_add_type(p, "lock", "ns");
	profile_add_type(p, "lock-samples", "samples");
	profile_add_type(p, "lock-waits", "waits");
	profile_add_type(p, "sched:sched_switch-samples", "samples");
	assert_true(count_find(p, 0, &count));
	assert_int_equal(count, 4);
	assert_true(count_find(p, 3, &count));
	assert_int_equal(count, 2);
	assert_true(count_find(p, 2, &count));
	assert_int_equal(count, 2);
	assert_true(count_is_only(p, 2) && count_is_only(p, 4));
	assert_false(count_is_only(p, 0) || count_is_only(p, 3));
	profile_free(p);
}

static void a_change_in_sample_size_is_not_chance(void **state)
{
	struct world w = { allocations(100, 100000, 1000, 1000000),
			   allocations(100, 900000, 1000, 1000000) };

	assert_told(&w, "  a\n", "  b\n");
}

static bool differ(struct sampled before, struct sampled after)
{
	return diff_sigmas(&(struct sampled_pair){ before, after }, NULL) >= 2;
}

static void absolute_weights_differ_as_poisson_counts_do(void **state)
{
	assert_false(differ((struct sampled){ 0, 0 }, (struct sampled){ 3, 3 }));
	assert_true(differ((struct sampled){ 0, 0 }, (struct sampled){ 4, 4 }));
	assert_false(differ((struct sampled){ 0, 0 }, (struct sampled){ 3000, 3 }));
	assert_true(differ((struct sampled){ 0, 0 }, (struct sampled){ 4000, 4 }));
	assert_false(differ((struct sampled){ 0, 0 }, (struct sampled){ 0, 0 }));
	assert_false(differ((struct sampled){ 100, 100 }, (struct sampled){ 127, 127 }));
	assert_true(differ((struct sampled){ 100, 100 }, (struct sampled){ 131, 131 }));
}

/* Parts of wholes of so many samples; each sample weighs `weight`. */
static double sigmas(u64 before, u64 of_before, u64 after, u64 of_after, u64 weight)
{
	struct sampled_pair part = { { before * weight, before }, { after * weight, after } };
	struct sampled_pair whole = { { of_before * weight, of_before },
				      { of_after * weight, of_after } };

	return diff_sigmas(&part, &whole);
}

static bool shares_differ(u64 before, u64 of_before, u64 after, u64 of_after, u64 weight)
{
	return sigmas(before, of_before, after, of_after, weight) >= 2;
}

static void a_part_and_the_rest_get_the_same_answer(void **state)
{
	assert_true(shares_differ(100, 1000, 150, 1000, 1));
	assert_true(shares_differ(900, 1000, 850, 1000, 1));
	assert_false(shares_differ(1000, 1000, 500, 500, 1));
	for (u32 i = 0; i < 10000; i++) {
		u64 of_before = 1 + random_below(3000), before = random_below(of_before + 1);
		u64 of_after = 1 + random_below(3000), after = random_below(of_after + 1);
		u64 weight = 1 + random_below(1000000);
		assert_int_equal(shares_differ(before, of_before, after, of_after, weight),
				 shares_differ(of_before - before, of_before, of_after - after,
					       of_after, weight));
	}
}

static u64 draw(u32 nr, double p)
{
	u64 hits = 0;

	while (nr--)
		hits += random_below(1 << 20) < p * (1 << 20);
	return hits;
}

#define DRAWS 10000

/* In how many of 100 pairs of 1,000 samples each the shares differ by more than chance. */
static double found(double before, double after)
{
	u32 nr = 0;

	for (u32 i = 0; i < DRAWS; i++)
		nr += shares_differ(draw(1000, before), 1000, draw(1000, after), 1000, 1);
	return 100.0 * nr / DRAWS;
}

static void chance_alone_is_called_a_change_in_4_to_7_of_100_draws(void **state)
{
	static const double shares[] = { 0.1, 0.5, 0.9 };

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		double wrong = found(shares[i], shares[i]);
		if (wrong < 4 || wrong > 7)
			fail_msg("%.2f %% at a share of %.1f", wrong, shares[i]);
	}
	assert_true(found(0.1, 0.15) > 90);
	assert_true(found(0.9, 0.85) > 90);
}

#define METHODS 400

/* Draws samples of methods whose shares fall like 1 / n. Method 5 gets `more` of 100 samples. */
static void draw_methods(u32 nr, double more, u64 *out)
{
	double sums[METHODS], all = 0;

	memset(out, 0, METHODS * sizeof(out[0]));
	for (u32 m = 0; m < METHODS; m++)
		sums[m] = all += 1.0 / (m + 5);
	for (u32 i = 0; i < nr; i++) {
		double at = (double)random_below(1 << 30) / (1 << 30);
		u32 m = 0;
		at -= more / 100;
		while (at >= 0 && m < METHODS - 1 && sums[m] < at / (1 - more / 100) * all)
			m++;
		out[at < 0 ? 5 : m]++;
	}
}

/* Compares all methods of two profiles. Returns how many differ, and whether method 5 does. */
static u32 nr_different(u32 nr_before, u32 nr_after, double more, bool *is_found)
{
	u64 before[METHODS], after[METHODS];
	double all[METHODS], sorted[METHODS];
	u32 nr = 0;

	draw_methods(nr_before, 0, before);
	draw_methods(nr_after, more, after);
	for (u32 m = 0; m < METHODS; m++)
		sorted[m] = all[m] = sigmas(before[m], nr_before, after[m], nr_after, 1);
	double limit = diff_limit(sorted, METHODS);
	*is_found = all[5] >= limit;
	for (u32 m = 0; m < METHODS; m++)
		nr += all[m] >= limit;
	return nr;
}

static void of_many_methods_without_a_change_none_differs(void **state)
{
	static const u32 sizes[][2] = { { 1000, 1000 }, { 5000, 500 }, { 300, 3000 } };
	bool is_found;

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		u32 nr_alarms = 0, nr_found = 0, nr = 400;
		for (u32 i = 0; i < nr; i++) {
			nr_alarms += nr_different(sizes[s][0], sizes[s][1], 0, &is_found) > 0;
			nr_different(sizes[s][0], sizes[s][1], 10, &is_found);
			nr_found += is_found;
		}
		printf("# %u and %u samples: a change in %.1f %%, 10 points found in %.1f %%\n",
		       sizes[s][0], sizes[s][1], 100.0 * nr_alarms / nr, 100.0 * nr_found / nr);
		assert_true(nr_alarms <= nr * 0.05 + 3 * sqrt(nr * 0.05));
		assert_true(nr_found >= nr * 0.9);
	}
}

static void the_limit_follows_benjamini_and_hochberg(void **state)
{
	/* p: 0.0455, 0.0027, 0.317, 0.0124; of these 0.0027 and 0.0124 are below 1 and 2 of 4 times
	 * 0.05. */
	double four[] = { 2, 3, 1, 2.5 }, one[] = { 1.97 }, none[] = { 1.95, 0 };

	assert_true(diff_limit(four, 4) == 2.5);
	assert_true(diff_limit(one, 1) == 1.97);
	assert_true(isinf(diff_limit(none, 2)) && isinf(diff_limit(NULL, 0)));
}

static void assert_comes_back(struct world *w, const char *format)
{
	struct profile *p = profile_new(), *back = profile_new();
	auto_str struct str bytes = { 0 };
	FILE *f = open_memstream(&bytes.at, &bytes.len);

	assert_int_equal(choose(w, NULL), 0);
	profile_diff(w->before, w->after, &w->types, p);
	assert_int_equal(format_by_name(format)->write(p, f), 0);
	fclose(f);
	f = fmemopen(bytes.at, bytes.len, "r");
	assert_int_equal(profile_read(f, back, &w->why), 0);
	fclose(f);
	assert_int_equal(back->types.nr, p->types.nr);
	for (u32 type = 0; type < p->types.nr; type++) {
		assert_string_equal(back->types.at[type].name, p->types.at[type].name);
		assert_string_equal(back->types.at[type].unit, p->types.at[type].unit);
		assert_int_equal(back->types.at[type].role, p->types.at[type].role);
		assert_int_equal(profile_total(back, type), profile_total(p, type));
	}
	profile_free(p);
	profile_free(back);
}

static void a_comparison_is_read_back_from_pprof_and_otlp(void **state)
{
	const char *const counts[] = { "alloc-waits", NULL }, *const none[] = { NULL };
	struct world all[] = {
		{ allocations(2, 3, 5, 7), allocations(11, 13, 17, 19) },
		{ waits(counts, 23), waits(counts, 29) },
		{ waits(none, 31), waits(none, 37) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_comes_back(&all[i], "pprof");
		assert_comes_back(&all[i], "otlp");
		world_fini(&all[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_requested_type_is_compared),
		cmocka_unit_test(types_with_one_name_are_distinguished),
		cmocka_unit_test(the_type_that_both_show_first_is_compared),
		cmocka_unit_test(a_type_that_is_0_in_both_is_compared_only_on_request),
		cmocka_unit_test(objects_are_not_samples_that_decide_about_chance),
		cmocka_unit_test(samples_of_cpu_time_are_compared_by_any_of_their_names),
		cmocka_unit_test(cycles_are_compared_with_cycles_but_not_with_time),
		cmocka_unit_test(bytes_of_few_samples_differ_by_chance),
		cmocka_unit_test(only_samples_or_waits_decide_about_chance),
		cmocka_unit_test(losses_of_either_side_are_reported),
		cmocka_unit_test(a_picture_has_the_same_rule),
		cmocka_unit_test(hits_are_counted_by_samples_or_themselves),
		cmocka_unit_test(a_change_in_sample_size_is_not_chance),
		cmocka_unit_test(absolute_weights_differ_as_poisson_counts_do),
		cmocka_unit_test(a_part_and_the_rest_get_the_same_answer),
		cmocka_unit_test(the_limit_follows_benjamini_and_hochberg),
		cmocka_unit_test(of_many_methods_without_a_change_none_differs),
		cmocka_unit_test(chance_alone_is_called_a_change_in_4_to_7_of_100_draws),
		cmocka_unit_test(a_comparison_is_read_back_from_pprof_and_otlp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
