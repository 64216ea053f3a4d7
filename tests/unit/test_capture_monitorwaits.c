/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/time.h"
#include "capture/events/monitorwaits.h"

#define MS NS_PER_MS

static void consecutive_parts_are_one_wait(void **state)
{
	struct monitorwaits all = { 0 };

	monitorwaits_add(&all, 7, 1000 * MS, 1008 * MS);
	monitorwaits_add(&all, 8, 1000 * MS, 1072 * MS);
	monitorwaits_add(&all, 7, 1009 * MS, 1073 * MS);
	assert_int_equal(monitorwaits_since(&all, 7, 1074 * MS), 1000 * MS);
	assert_int_equal(monitorwaits_since(&all, 9, 1074 * MS), 1074 * MS);
	monitorwaits_fini(&all);
}

static void a_later_wait_is_another_one(void **state)
{
	struct monitorwaits all = { 0 };

	monitorwaits_add(&all, 7, 1000 * MS, 1008 * MS);
	assert_int_equal(monitorwaits_since(&all, 7, 1030 * MS), 1030 * MS);
	monitorwaits_end(&all, 7);
	assert_int_equal(monitorwaits_since(&all, 7, 1009 * MS), 1009 * MS);
	monitorwaits_end(&all, 7);
	monitorwaits_fini(&all);
}

static void threads_that_ended_in_a_wait_are_forgotten(void **state)
{
	struct monitorwaits all = { 0 };

	for (u32 tid = 1; tid <= 200003; tid++)
		monitorwaits_add(&all, tid, tid * 1000ull, tid * 1000ull + 10);
	assert_in_range(all.until.nr, 1, 65536);
	assert_int_equal(all.since.nr, all.until.nr);
	monitorwaits_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(consecutive_parts_are_one_wait),
		cmocka_unit_test(a_later_wait_is_another_one),
		cmocka_unit_test(threads_that_ended_in_a_wait_are_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
