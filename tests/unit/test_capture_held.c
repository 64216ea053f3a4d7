/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "capture/held.h"

#define PID 7

struct world {
	struct held held;
	struct profile *profile;
	struct held_weight weight;
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->profile = profile_new();
	profile_add_type(w->profile, "nativemem", "bytes");
	w->weight = (struct held_weight){
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

	held_fini(&w->held);
	profile_free(w->profile);
	free(w);
	return 0;
}

/* The kernel's map holds what was not said to be freed. */
static void walk(struct world *w)
{
	vec_each(s, &w->held.samples)
		s->is_live = true;
}

static u64 left(struct world *w, u64 ended_ns)
{
	walk(w);
	held_release(&w->held, ended_ns, w->profile);
	return profile_total(w->profile, 0);
}

static void what_is_not_freed_is_added(void **state)
{
	struct world *w = *state;

	for (u64 t = 1; t <= 5; t++) {
		held_begin(&w->held, PID, 3, t);
		held_name(&w->held, 3, t, &w->weight, w->profile);
	}
	held_free(&w->held, 3, 1);
	held_free(&w->held, 3, 4);
	assert_int_equal(left(w, 100), 3 * 7);
}

static void what_is_freed_before_it_has_names_is_not_added(void **state)
{
	struct world *w = *state;

	held_begin(&w->held, PID, 3, 1);
	held_begin(&w->held, PID, 3, 2);
	held_free(&w->held, 3, 1);
	held_name(&w->held, 3, 1, &w->weight, w->profile);
	held_name(&w->held, 3, 2, &w->weight, w->profile);
	assert_int_equal(left(w, 100), 7);
}

static void equal_times_of_two_threads_are_two_samples(void **state)
{
	struct world *w = *state;

	held_begin(&w->held, PID, 3, 1);
	held_begin(&w->held, PID, 4, 1);
	held_name(&w->held, 3, 1, &w->weight, w->profile);
	held_name(&w->held, 4, 1, &w->weight, w->profile);
	held_free(&w->held, 4, 1);
	assert_int_equal(left(w, 100), 7);
}

static void what_is_too_young_is_not_added(void **state)
{
	struct world *w = *state;

	w->weight.age_ns = 50;
	held_begin(&w->held, PID, 3, 51);
	held_name(&w->held, 3, 51, &w->weight, w->profile);
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
		held_begin(&w->held, PID, 3, t);
		held_name(&w->held, 3, t, &w->weight, w->profile);
	}
	held_free(&w->held, 3, 4);
	assert_int_equal(left(w, 100), 4 * 7);
	assert_int_equal(profile_total(w->profile, 1), 4);
	assert_int_equal(profile_total(w->profile, 2), 4 * 3);
}

static void take(struct world *w, pid_t pid, u64 time_ns)
{
	held_begin(&w->held, pid, 3, time_ns);
	held_name(&w->held, 3, time_ns, &w->weight, w->profile);
}

static void what_the_kernel_does_not_have_is_freed(void **state)
{
	struct world *w = *state;

	take(w, PID, 1);
	take(w, PID, 2);
	assert_false(held_lives(&w->held, PID, 3, 2));
	held_release(&w->held, 100, w->profile);
	assert_int_equal(profile_total(w->profile, 0), 7);
}

/* Of one PID the first process ends at 20, the next executes another program at 40. */
static void what_a_process_leaves_is_as_old_as_it_was_at_its_end(void **state)
{
	struct world *w = *state;

	w->weight.age_ns = 10;
	take(w, PID, 5);
	take(w, PID, 15);
	held_end(&w->held, PID, 20);
	take(w, PID, 25);
	take(w, PID, 26);
	take(w, PID, 35);
	held_end(&w->held, PID, 40);
	take(w, PID, 50);
	take(w, PID + 1, 1);
	walk(w);
	assert_true(held_lives(&w->held, PID, 3, 15));
	assert_true(held_lives(&w->held, PID, 3, 35));
	assert_false(held_lives(&w->held, PID, 3, 50));
	held_judge(&w->held, w->profile);
	assert_int_equal(profile_total(w->profile, 0), 3 * 7);
	assert_int_equal(w->held.samples.nr, 2);
	assert_int_equal(left(w, 1000), 5 * 7);
}

static void names_may_come_after_the_end(void **state)
{
	struct world *w = *state;

	w->weight.age_ns = 10;
	held_begin(&w->held, PID, 3, 1);
	held_begin(&w->held, PID, 3, 15);
	held_end(&w->held, PID, 20);
	walk(w);
	held_judge(&w->held, w->profile);
	held_name(&w->held, 3, 1, &w->weight, w->profile);
	held_name(&w->held, 3, 15, &w->weight, w->profile);
	assert_int_equal(profile_total(w->profile, 0), 7);
	assert_int_equal(w->held.samples.nr, 0);
}

static void a_walk_is_due_when_much_has_ended(void **state)
{
	struct world *w = *state;

	for (u64 t = 1; t <= 5000; t++)
		take(w, PID, t);
	held_end(&w->held, PID + 1, 6000);
	assert_false(held_is_due(&w->held));
	held_end(&w->held, PID, 6000);
	assert_true(held_is_due(&w->held));
	held_judge(&w->held, w->profile);
	assert_int_equal(w->held.samples.nr, 0);
	assert_false(held_is_due(&w->held));
}

static void what_nobody_took_is_ignored(void **state)
{
	struct world *w = *state;

	held_free(&w->held, 3, 1);
	held_name(&w->held, 3, 1, &w->weight, w->profile);
	assert_int_equal(left(w, 100), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_not_freed_is_added),
		TEST(what_is_freed_before_it_has_names_is_not_added),
		TEST(equal_times_of_two_threads_are_two_samples),
		TEST(what_is_too_young_is_not_added),
		TEST(samples_and_counts_are_held_back_too),
		TEST(what_the_kernel_does_not_have_is_freed),
		TEST(what_a_process_leaves_is_as_old_as_it_was_at_its_end),
		TEST(names_may_come_after_the_end),
		TEST(a_walk_is_due_when_much_has_ended),
		TEST(what_nobody_took_is_ignored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
