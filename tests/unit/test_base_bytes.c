/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of bytes as people write them. */
#include "test.h"

#include "base/opt.h"

static void expect(const char *text, u64 bytes)
{
	u64 got;

	assert_true(bytes_parse(text, &got));
	assert_int_equal(got, bytes);
}

static void units_are_powers_of_1024(void **state)
{
	expect("0", 0);
	expect("524288", 524288);
	expect("512k", 512 << 10);
	expect("1M", 1 << 20);
	expect("2g", 2ull << 30);
	expect("3T", 3ull << 40);
	expect("4194304t", 1ull << 62);
}

static void other_texts_are_refused(void **state)
{
	static const char *const wrong[] = {
		"", "k", "-1", " 1", "1.5m", "1x", "1kb", "1 k", "4194305t", "99999999999999999999"
	};
	u64 got = 7;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(bytes_parse(wrong[i], &got));
	assert_int_equal(got, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_powers_of_1024),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
