/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "capture/samples/live_allocs.h"

#define PID 7

struct world {
	struct live_allocs live_allocs;
	struct profile *profile; /* of `cut` */
	struct cut cut;
	struct live_alloc_weight weight;
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->profile = w->cut.profile = profile_new();
	profile_add_type(w->profile, "nativemem", "bytes");
	w->weight = (struct live_alloc_weight){
		.labels = profile_intern_labels(w->profile,
						&(struct labels){ .comm = "c", .thread = "t" }),
		.value = 7,
	};
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	live_allocs_fini(&w->live_allocs);
	profile_free(w->profile);
	free(w);
	return 0;
}

/* Marks every sample as live in the kernel's map. */
static void walk(struct world *w)
{
	vec_each(s, &w->live_allocs.samples)
		s->is_live = true;
}

static u64 left(struct world *w, u64 ended_ns)
{
	walk(w);
	live_allocs_release(&w->live_allocs, ended_ns, &w->cut);
	return profile_total(w->profile, 0);
}

static void memory_that_is_not_freed_is_added(void **state)
{
	struct world *w = *state;

	for (u64 t = 1; t <= 5; t++) {
		live_allocs_begin(&w->live_allocs, PID, 3, t);
		live_allocs_name(&w->live_allocs, 3, t, &w->weight, &w->cut);
	}
	live_allocs_free(&w->live_allocs, 3, 1);
	live_allocs_free(&w->live_allocs, 3, 4);
	assert_int_equal(left(w, 100), 3 * 7);
}

static void a_sample_freed_before_it_is_named_is_not_added(void **state)
{
	struct world *w = *state;

	live_allocs_begin(&w->live_allocs, PID, 3, 1);
	live_allocs_begin(&w->live_allocs, PID, 3, 2);
	live_allocs_free(&w->live_allocs, 3, 1);
	live_allocs_name(&w->live_allocs, 3, 1, &w->weight, &w->cut);
	live_allocs_name(&w->live_allocs, 3, 2, &w->weight, &w->cut);
	assert_int_equal(left(w, 100), 7);
}

static void two_threads_at_the_same_time_are_two_samples(void **state)
{
	struct world *w = *state;

	live_allocs_begin(&w->live_allocs, PID, 3, 1);
	live_allocs_begin(&w->live_allocs, PID, 4, 1);
	live_allocs_name(&w->live_allocs, 3, 1, &w->weight, &w->cut);
	live_allocs_name(&w->live_allocs, 4, 1, &w->weight, &w->cut);
	live_allocs_free(&w->live_allocs, 4, 1);
	assert_int_equal(left(w, 100), 7);
}

static void young_memory_is_not_added(void **state)
{
	struct world *w = *state;

	w->weight.age_ns = 50;
	live_allocs_begin(&w->live_allocs, PID, 3, 51);
	live_allocs_name(&w->live_allocs, 3, 51, &w->weight, &w->cut);
	assert_int_equal(left(w, 100), 0);
}

static void samples_and_counts_are_held_back_too(void **state)
{
	struct world *w = *state;

	profile_add_type(w->profile, "nativemem-samples", "samples");
	profile_add_type(w->profile, "nativemem-calls", "calls");
	w->weight.has_samples = true;
	w->weight.count = 3;
	for (u64 t = 1; t <= 5; t++) {
		live_allocs_begin(&w->live_allocs, PID, 3, t);
		live_allocs_name(&w->live_allocs, 3, t, &w->weight, &w->cut);
	}
	live_allocs_free(&w->live_allocs, 3, 4);
	assert_int_equal(left(w, 100), 4 * 7);
	assert_int_equal(profile_total(w->profile, 1), 4);
	assert_int_equal(profile_total(w->profile, 2), 4 * 3);
}

static void take(struct world *w, pid_t pid, u64 time_ns)
{
	live_allocs_begin(&w->live_allocs, pid, 3, time_ns);
	live_allocs_name(&w->live_allocs, 3, time_ns, &w->weight, &w->cut);
}

static void memory_missing_in_the_kernels_map_counts_as_freed(void **state)
{
	struct world *w = *state;

	take(w, PID, 1);
	take(w, PID, 2);
	assert_false(live_allocs_lives(&w->live_allocs, PID, 3, 2));
	live_allocs_release(&w->live_allocs, 100, &w->cut);
	assert_int_equal(profile_total(w->profile, 0), 7);
}

/* The first process with the PID ends at 20; the next one executes another program at 40. */
static void the_age_of_a_leak_is_that_at_the_end_of_its_process(void **state)
{
	struct world *w = *state;

	w->weight.age_ns = 10;
	take(w, PID, 5);
	take(w, PID, 15);
	live_allocs_end(&w->live_allocs, PID, 20);
	take(w, PID, 25);
	take(w, PID, 26);
	take(w, PID, 35);
	live_allocs_end(&w->live_allocs, PID, 40);
	take(w, PID, 50);
	take(w, PID + 1, 1);
	walk(w);
	assert_true(live_allocs_lives(&w->live_allocs, PID, 3, 15));
	assert_true(live_allocs_lives(&w->live_allocs, PID, 3, 35));
	assert_false(live_allocs_lives(&w->live_allocs, PID, 3, 50));
	live_allocs_judge(&w->live_allocs, &w->cut);
	assert_int_equal(profile_total(w->profile, 0), 3 * 7);
	assert_int_equal(w->live_allocs.samples.nr, 2);
	assert_int_equal(left(w, 1000), 5 * 7);
}

static void a_sample_may_be_named_after_the_end_of_its_process(void **state)
{
	struct world *w = *state;

	w->weight.age_ns = 10;
	live_allocs_begin(&w->live_allocs, PID, 3, 1);
	live_allocs_begin(&w->live_allocs, PID, 3, 15);
	live_allocs_end(&w->live_allocs, PID, 20);
	walk(w);
	live_allocs_judge(&w->live_allocs, &w->cut);
	live_allocs_name(&w->live_allocs, 3, 1, &w->weight, &w->cut);
	live_allocs_name(&w->live_allocs, 3, 15, &w->weight, &w->cut);
	assert_int_equal(profile_total(w->profile, 0), 7);
	assert_int_equal(w->live_allocs.samples.nr, 0);
}

static void a_walk_is_due_after_the_end_of_many_samples(void **state)
{
	struct world *w = *state;

	for (u64 t = 1; t <= 5000; t++)
		take(w, PID, t);
	live_allocs_end(&w->live_allocs, PID + 1, 6000);
	assert_false(live_allocs_is_due(&w->live_allocs));
	live_allocs_end(&w->live_allocs, PID, 6000);
	assert_true(live_allocs_is_due(&w->live_allocs));
	live_allocs_judge(&w->live_allocs, &w->cut);
	assert_int_equal(w->live_allocs.samples.nr, 0);
	assert_false(live_allocs_is_due(&w->live_allocs));
}

static void an_unknown_sample_is_ignored(void **state)
{
	struct world *w = *state;

	live_allocs_free(&w->live_allocs, 3, 1);
	live_allocs_name(&w->live_allocs, 3, 1, &w->weight, &w->cut);
	assert_int_equal(left(w, 100), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_that_is_not_freed_is_added),
		TEST(a_sample_freed_before_it_is_named_is_not_added),
		TEST(two_threads_at_the_same_time_are_two_samples),
		TEST(young_memory_is_not_added),
		TEST(samples_and_counts_are_held_back_too),
		TEST(memory_missing_in_the_kernels_map_counts_as_freed),
		TEST(the_age_of_a_leak_is_that_at_the_end_of_its_process),
		TEST(a_sample_may_be_named_after_the_end_of_its_process),
		TEST(a_walk_is_due_after_the_end_of_many_samples),
		TEST(an_unknown_sample_is_ignored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
