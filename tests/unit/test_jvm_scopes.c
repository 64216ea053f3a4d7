/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "jvm/memory/scopes.h"
#include "test.h"

static u32 decode(const char *bytes, size_t len, bool excludes_zero, size_t expected_end)
{
	size_t at = 0;
	u32 value = 12345;

	assert_true(unsigned5_read((const u8 *)bytes, len, &at, excludes_zero, &value));
	assert_int_equal(at, expected_end);
	return value;
}

/* Vectors of JDK-8292758's encoding and of the one before it. */
static void numbers_are_read_in_both_encodings(void **state)
{
	assert_int_equal(decode("\0", 1, false, 1), 0);
	assert_int_equal(decode("\xbf", 1, false, 1), 191);
	assert_int_equal(decode("\xc0\0", 2, false, 2), 192);
	assert_int_equal(decode("\xff\xff\xff\xff\xff", 5, false, 5), 255u * 0x1041041u);
	assert_int_equal(decode("\1", 1, true, 1), 0);
	assert_int_equal(decode("\xbf", 1, true, 1), 190);
	assert_int_equal(decode("\xc0\1", 2, true, 2), 191);
	assert_int_equal(decode("\xc1\2", 2, true, 2), 192 + 64);
}

static void a_truncated_number_is_refused(void **state)
{
	size_t at = 0;
	u32 value;

	assert_false(unsigned5_read((const u8 *)"\xc0", 1, &at, false, &value));
	at = 0;
	assert_false(unsigned5_read((const u8 *)"\0", 1, &at, true, &value));
}

static const struct pc_desc descs[] = {
	{ -1, 0, 0, 0 }, { 10, 5, 0, 0 }, { 20, 0, 0, 0 }, { 30, 9, 0, 0 }, { 0x7fffffff, 0, 0, 0 },
};

static void a_pc_gets_the_first_descriptor_at_or_above_it(void **state)
{
	assert_int_equal(scopes_find(descs, 5, 10)->scope_offset, 5);
	assert_int_equal(scopes_find(descs, 5, 3)->scope_offset, 5);
	assert_int_equal(scopes_find(descs, 5, 11)->scope_offset, 9);
	assert_null(scopes_find(descs, 5, 31));
	assert_null(scopes_find(descs, 0, 31));
}

static void scopes_lead_from_the_innermost_to_the_outermost(void **state)
{
	const u8 data[] = { 0, 0, 1, 8, 1, 2, 4, 1, 7, 3, 0, 0 };
	struct scope scopes[4];

	/* at 4: sender 1, method 2, bci 3; at 1: sender 0, method 1, bci 7 */
	assert_int_equal(scopes_decode(data, sizeof(data), 4, false, scopes, 4), 2);
	assert_int_equal(scopes[0].method_index, 2);
	assert_int_equal(scopes[0].bci, 3);
	assert_int_equal(scopes[1].method_index, 1);
	assert_int_equal(scopes[1].bci, 7);
	assert_int_equal(scopes_decode(data, sizeof(data), 4, false, scopes, 1), 1);
}

static void damaged_scopes_are_reported(void **state)
{
	const u8 ring[] = { 0, 1, 1, 1 };
	struct scope scopes[4];

	assert_int_equal(scopes_decode(ring, sizeof(ring), 1, false, scopes, 4), -EBADMSG);
	assert_int_equal(scopes_decode(ring, sizeof(ring), 3, false, scopes, 4), -EBADMSG);
	assert_int_equal(scopes_decode(ring, sizeof(ring), 99, false, scopes, 4), -EBADMSG);
}

static void a_line_is_that_of_the_last_entry_before_the_bci(void **state)
{
	/* bci 0 line 7; bci 3 line 9; then bci +20, line -4 in the long form */
	const u8 table[] = { 7, 3 << 3 | 2, 0xff, 40, 7, 0 };

	assert_int_equal(line_table_find(table, sizeof(table), false, 0), 7);
	assert_int_equal(line_table_find(table, sizeof(table), false, 2), 7);
	assert_int_equal(line_table_find(table, sizeof(table), false, 3), 9);
	assert_int_equal(line_table_find(table, sizeof(table), false, 22), 9);
	assert_int_equal(line_table_find(table, sizeof(table), false, 23), 5);
	assert_int_equal(line_table_find(table, 0, false, 23), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_in_both_encodings),
		cmocka_unit_test(a_truncated_number_is_refused),
		cmocka_unit_test(a_pc_gets_the_first_descriptor_at_or_above_it),
		cmocka_unit_test(scopes_lead_from_the_innermost_to_the_outermost),
		cmocka_unit_test(damaged_scopes_are_reported),
		cmocka_unit_test(a_line_is_that_of_the_last_entry_before_the_bci),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
