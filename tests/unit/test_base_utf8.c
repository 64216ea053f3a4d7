/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>

#include "base/str.h"

#define REPLACED "\xef\xbf\xbd"

static void assert_cleaned(const char *text, const char *clean)
{
	auto_str struct str out = { 0 };

	assert_int_equal(utf8_is_clean(text, 100), false);
	utf8_clean(&out, text, 100);
	assert_string_equal(out.at, clean);
	assert_true(utf8_is_clean(out.at, 100));
}

static void valid_text_stays_unchanged(void **state)
{
	assert_true(utf8_is_clean("", 0));
	assert_true(utf8_is_clean("a \"<é€😀>\"", 100));
	assert_false(utf8_is_clean("abc", 2));
}

static void control_characters_and_broken_bytes_are_replaced(void **state)
{
	assert_cleaned("a\nb\x7f", "a" REPLACED "b" REPLACED);
	assert_cleaned("\x1b[31m", REPLACED "[31m");
	assert_cleaned("\xc2\x85", REPLACED REPLACED);              /* C1: next line */
	assert_cleaned("\xc0\x80", REPLACED REPLACED);              /* overlong NUL */
	assert_cleaned("\xed\xa0\x80", REPLACED REPLACED REPLACED); /* a surrogate */
	assert_cleaned("x\xe2\x82", "x" REPLACED REPLACED);         /* cut */
	assert_cleaned("\xf5\x80\x80\x80", REPLACED REPLACED REPLACED REPLACED);
}

static void text_is_cut_between_characters(void **state)
{
	auto_str struct str out = { 0 };

	utf8_clean(&out, "ab€", 4);
	assert_string_equal(out.at, "ab");
}

/* Any bytes become clean text. */
static void random_bytes_become_clean(void **state)
{
	srand(7);
	for (int i = 0; i < 5003; i++) {
		auto_str struct str out = { 0 };
		char bytes[17] = { 0 };
		for (int j = 0; j < 16; j++)
			bytes[j] = (char)rand();
		utf8_clean(&out, bytes, 40);
		assert_true(utf8_is_clean(out.at, 40));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_text_stays_unchanged),
		cmocka_unit_test(control_characters_and_broken_bytes_are_replaced),
		cmocka_unit_test(text_is_cut_between_characters),
		cmocka_unit_test(random_bytes_become_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
