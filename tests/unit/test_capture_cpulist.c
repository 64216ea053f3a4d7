/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>

#include "capture/kernel/cpulist.h"

static void ranges_and_single_cpus_are_parsed(void **state)
{
	cpulist list = { 0 };

	assert_int_equal(cpulist_parse("0-2,7\n", &list), 0);
	assert_int_equal(list.nr, 4);
	assert_int_equal(list.at[2], 2);
	assert_true(cpulist_has(&list, 7));
	assert_false(cpulist_has(&list, 3));
	vec_fini(&list);
}

static void a_list_is_printed_with_its_ranges(void **state)
{
	static const char *const texts[] = { "0", "0-3", "0-1,5", "7,0-2" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cpulist list = { 0 };
		struct str text = { 0 };
		assert_int_equal(cpulist_parse(texts[i], &list), 0);
		cpulist_text(&list, &text);
		assert_string_equal(text.at, texts[i]);
		str_fini(&text);
		vec_fini(&list);
	}
}

static void an_invalid_list_is_refused(void **state)
{
	static const char *const texts[] = { "x", "1-", "3-1", "0-99999999", "1;2", "-1" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cpulist list = { 0 };
		assert_int_equal(cpulist_parse(texts[i], &list), -EINVAL);
		vec_fini(&list);
	}
}

static void this_machine_has_an_online_cpu(void **state)
{
	cpulist list = { 0 };

	assert_int_equal(cpulist_online(&list), 0);
	assert_true(list.nr > 0);
	vec_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_and_single_cpus_are_parsed),
		cmocka_unit_test(a_list_is_printed_with_its_ranges),
		cmocka_unit_test(an_invalid_list_is_refused),
		cmocka_unit_test(this_machine_has_an_online_cpu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
