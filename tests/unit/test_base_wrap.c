/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"

static void assert_wrapped(const char *text, size_t at, size_t indent, size_t columns,
			   const char *wanted)
{
	auto_str struct str out = { 0 };

	wrap_add(&out, text, at, indent, columns);
	assert_string_equal(out.at, wanted);
}

static void lines_end_between_words(void **state)
{
	assert_wrapped("one two three", 0, 2, 80, "one two three");
	assert_wrapped("one two three", 0, 2, 7, "one two\n  three");
	assert_wrapped("one two three", 0, 2, 6, "one\n  two\n  three");
	assert_wrapped("one two", 5, 5, 12, "one two");
	assert_wrapped("one two", 6, 5, 12, "one\n     two");
	assert_wrapped("", 0, 2, 7, "");
}

static void a_long_word_stays_whole(void **state)
{
	assert_wrapped("a /a/very/long/path b", 0, 2, 8, "a\n  /a/very/long/path\n  b");
	assert_wrapped("/a/very/long/path", 9, 9, 12, "/a/very/long/path");
}

static void blanks_inside_a_line_are_kept(void **state)
{
	assert_wrapped("a  b   c", 0, 0, 8, "a  b   c");
	assert_wrapped("  a b", 0, 0, 5, "  a b");
}

static void a_character_of_several_bytes_has_one_column(void **state)
{
	assert_wrapped("\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9", 0, 0, 6,
		       "\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9");
}

static void later_lines_hang_below_the_text_of_a_row(void **state)
{
	assert_int_equal(wrap_hanging("samples    12 in 3 s"), 11);
	assert_int_equal(wrap_hanging("           12 of them"), 11);
	assert_int_equal(wrap_hanging("a sentence of words"), 2);
	assert_int_equal(wrap_hanging("ends in blanks   "), 2);
}

static void a_file_has_80_columns(void **state)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	assert_int_equal(wrap_columns(null), 80);
	close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_between_words),
		cmocka_unit_test(a_long_word_stays_whole),
		cmocka_unit_test(blanks_inside_a_line_are_kept),
		cmocka_unit_test(a_character_of_several_bytes_has_one_column),
		cmocka_unit_test(later_lines_hang_below_the_text_of_a_row),
		cmocka_unit_test(a_file_has_80_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
