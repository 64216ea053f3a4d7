/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads each one stands for, if others could not be read. */
#include "test.h"

#include "jvm/virtual/strata.h"

#define NEAR(a, b) ((a) > (b)-1e-9 && (a) < (b) + 1e-9)

static void threads_that_were_read_stand_for_those_with_the_same_lock(void **state)
{
	(void)state;
	struct strata s = { 0 };
	u32 one = stratum_of_wait(1, 0x1000), other = stratum_of_wait(1, 0x2000);
	double factors[NR_STRATA];

	assert_true(one != other);
	assert_true(one == stratum_of_wait(2, 0x1000));
	assert_true(stratum_of_wait(1, 0) != stratum_of_wait(2, 0));
	strata_begin_look(&s);
	strata_see(&s, one, 6);
	strata_keep(&s, one, 2);
	strata_see(&s, other, 5);
	strata_keep(&s, other, 5);
	strata_weigh(&s, factors);
	assert_true(NEAR(factors[one], 3));
	assert_true(NEAR(factors[other], 1));
}

static void threads_of_earlier_looks_count_once_one_is_read(void **state)
{
	(void)state;
	struct strata s = { 0 };
	u32 lock = stratum_of_wait(1, 0x1000);
	double factors[NR_STRATA];

	for (int i = 0; i < 20; i++) {
		strata_begin_look(&s);
		strata_see(&s, lock, 1);
		strata_see(&s, STRATUM_STEADY, 10);
		strata_keep(&s, STRATUM_STEADY, 10);
		strata_weigh(&s, factors);
		assert_true(NEAR(factors[STRATUM_STEADY], 1));
	}
	strata_begin_look(&s);
	strata_keep(&s, lock, 1);
	strata_see(&s, lock, 1);
	strata_weigh(&s, factors);
	assert_true(NEAR(factors[lock], 21));
}

static void no_thread_gets_lost_if_none_of_its_lock_is_ever_read(void **state)
{
	(void)state;
	struct strata s = { 0 };
	u32 lock = stratum_of_wait(1, 0x1000);
	double factors[NR_STRATA], sum = 0;

	for (int i = 0; i < 1000; i++) {
		strata_begin_look(&s);
		strata_see(&s, lock, 1);
		strata_see(&s, STRATUM_STEADY, 10);
		strata_keep(&s, STRATUM_STEADY, 10);
		strata_weigh(&s, factors);
		sum += factors[STRATUM_STEADY] * 10;
	}
	assert_true(sum > 10000 + 900 && sum <= 10000 + 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_were_read_stand_for_those_with_the_same_lock),
		cmocka_unit_test(threads_of_earlier_looks_count_once_one_is_read),
		cmocka_unit_test(no_thread_gets_lost_if_none_of_its_lock_is_ever_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
