/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "capture/events/event_kind.h"

/* A sample of one frame, whose leaf holds the kind and details. */
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

/* Over many objects of one size, the weights of the sampled ones add up to the bytes of all. */
static void an_allocation_weighs_its_bytes_divided_by_its_probability(void **state)
{
	u64 count;

	/* 1 - exp(-1) */
	assert_int_equal(weigh(event_kind_alloc.weigh, USER_FRAME_CLASS, 1000000, 1000000, &count),
			 1581977);
	/* Small objects weigh the whole interval and half of themselves. */
	assert_int_equal(weigh(event_kind_alloc.weigh, USER_FRAME_CLASS, 524288, 32, &count),
			 524304);
	assert_int_equal(weigh(event_kind_alloc.weigh, USER_FRAME_CLASS, 4096, 1 << 30, &count),
			 1 << 30);
	assert_int_equal(weigh(event_kind_alloc.weigh, USER_FRAME_CLASS, 0, 24, &count), 24);
	assert_int_equal(count, 1);
}

/* While there are too many, a second selection: 4,096 bytes out of 16,384. */
static void an_allocation_that_is_sampled_more_rarely_weighs_more(void **state)
{
	struct one s = { .head = { .nr_user = 1, .weight = 1000, .unit_bytes = 16384 },
			 .leaf = { .info = (u64)USER_FRAME_CLASS << USER_FRAME_KIND_SHIFT |
					   4096 } };
	u64 count = 1;

	assert_int_equal(event_kind_alloc.weigh(&options, &s.head, &count), 18465);
	s.head.weight = 300000;
	assert_int_equal(event_kind_alloc.weigh(&options, &s.head, &count), 300000);
	s.head.unit_bytes = 1 << 20;
	assert_int_equal(event_kind_alloc.weigh(&options, &s.head, &count), 1 << 20);
}

static void a_weight_from_libjvm_is_not_changed(void **state)
{
	u64 count;

	assert_int_equal(
		weigh(event_kind_alloc.weigh, USER_FRAME_KLASS, KLASS_IN_TLAB, 777, &count), 777);
	assert_int_equal(weigh(event_kind_alloc.weigh, USER_FRAME_CLASS, 4096, 0, &count), 0);
}

static void a_short_wait_stands_for_many(void **state)
{
	u64 count, sum = 0;

	assert_int_equal(weigh(event_kind_lock.weigh, USER_FRAME_CLASS, 1000000, 5000000, &count),
			 5000000);
	assert_int_equal(count, 1);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(
			weigh(event_kind_lock.weigh, USER_FRAME_CLASS, 1000000, 400000, &count),
			1000000);
		sum += count;
	}
	/* 2.5 each, at random 2 or 3: a standard deviation of 50 */
	assert_in_range(sum, 24600, 25400);
	assert_int_equal(weigh(event_kind_lock.weigh, USER_FRAME_CLASS, 1000000, 0, &count), 0);
}

static void a_wait_from_the_kernel_has_the_minimum_of_the_recording(void **state)
{
	const struct sample s = { .state = STATE_SLEEPING, .weight = 250000 };
	u64 count = 1;

	assert_int_equal(event_kind_lock.weigh(&options, &s, &count), 1000000);
	assert_int_equal(count, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_allocation_weighs_its_bytes_divided_by_its_probability),
		cmocka_unit_test(an_allocation_that_is_sampled_more_rarely_weighs_more),
		cmocka_unit_test(a_weight_from_libjvm_is_not_changed),
		cmocka_unit_test(a_short_wait_stands_for_many),
		cmocka_unit_test(a_wait_from_the_kernel_has_the_minimum_of_the_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
