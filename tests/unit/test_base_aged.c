/* SPDX-License-Identifier: Apache-2.0 */
/* A dict whose entries age. */
#include "base/dict.h"
#include "test.h"

static void an_entry_that_is_used_stays(void **state)
{
	struct aged a = { 0 };

	*aged_add(&a, 7) = 70;
	*aged_add(&a, 8) = 80;
	for (int i = 0; i < 5; i++) {
		aged_turn(&a);
		assert_int_equal(*aged_find(&a, 7), 70);
	}
	assert_null(aged_find(&a, 8));
	assert_int_equal(aged_nr(&a), 1);
	aged_fini(&a);
}

static void an_entry_is_dropped_at_the_second_turn_without_use(void **state)
{
	struct aged a = { 0 };

	*aged_add(&a, 7) = 70;
	aged_turn(&a);
	assert_int_equal(aged_nr(&a), 1);
	aged_turn(&a);
	assert_int_equal(aged_nr(&a), 0);
	assert_int_equal(aged_bytes(&a), 0);
	aged_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_dropped_at_the_second_turn_without_use),
		cmocka_unit_test(an_entry_that_is_used_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
