/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "capture/event_kind.h"

/* A sample of one frame, which says what it is about. */
struct one {
	struct sample head;
	struct user_frame leaf;
};

static const struct event_options options = { .lock_min_ns = 1000000 };

static u64 weigh(u64 (*weigh)(const struct event_options *, const struct sample *, u64 *), u64 kind,
		 u64 detail, u64 weight, u64 *count)
{
	struct one s = { .head = { .nr_user = 1, .weight = weight },
			 .leaf = { .info = kind << USER_FRAME_KIND_SHIFT | detail } };

	*count = 1;
	return weigh(&options, &s.head, count);
}

/* Over many objects of one size, what the hit ones weigh is what all have. */
static void an_allocation_weighs_its_bytes_by_the_chance_to_be_hit(void **state)
{
	u64 count;

	/* 1 - exp(-1) */
	assert_int_equal(weigh(weigh_alloc, USER_FRAME_CLASS, 1000000, 1000000, &count), 1581977);
	/* Small ones count for the whole interval and half of themselves. */
	assert_int_equal(weigh(weigh_alloc, USER_FRAME_CLASS, 524288, 32, &count), 524304);
	assert_int_equal(weigh(weigh_alloc, USER_FRAME_CLASS, 4096, 1 << 30, &count), 1 << 30);
	assert_int_equal(weigh(weigh_alloc, USER_FRAME_CLASS, 0, 24, &count), 24);
	assert_int_equal(count, 1);
}

static void what_libjvm_tells_is_weighed_already(void **state)
{
	u64 count;

	assert_int_equal(weigh(weigh_alloc, USER_FRAME_KLASS, KLASS_IN_TLAB, 777, &count), 777);
	assert_int_equal(weigh(weigh_alloc, USER_FRAME_CLASS, 4096, 0, &count), 0);
}

static void a_short_wait_stands_for_many(void **state)
{
	u64 count, sum = 0;

	assert_int_equal(weigh(weigh_lock, USER_FRAME_CLASS, 1000000, 5000000, &count), 5000000);
	assert_int_equal(count, 1);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(weigh(weigh_lock, USER_FRAME_CLASS, 1000000, 400000, &count),
				 1000000);
		sum += count;
	}
	/* 2.5 each, by chance 2 or 3: a standard deviation of 50 */
	assert_in_range(sum, 24600, 25400);
	assert_int_equal(weigh(weigh_lock, USER_FRAME_CLASS, 1000000, 0, &count), 0);
}

static void a_wait_of_a_thread_has_the_minimum_of_the_recording(void **state)
{
	const struct sample s = { .state = STATE_SLEEPING, .weight = 250000 };
	u64 count = 1;

	assert_int_equal(weigh_lock(&options, &s, &count), 1000000);
	assert_int_equal(count, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_allocation_weighs_its_bytes_by_the_chance_to_be_hit),
		cmocka_unit_test(what_libjvm_tells_is_weighed_already),
		cmocka_unit_test(a_short_wait_stands_for_many),
		cmocka_unit_test(a_wait_of_a_thread_has_the_minimum_of_the_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
