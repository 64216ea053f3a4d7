/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "jvm/memory/java_frame.h"
#include "test.h"

static struct java_names *pool;

static int set_up(void **state)
{
	pool = java_names_new();
	return 0;
}

static int tear_down(void **state)
{
	java_names_free(pool);
	return 0;
}

static const char *intern(const char *text)
{
	return java_names_intern(pool, text, strlen(text));
}

static const char *intern_class(const char *text)
{
	return java_names_intern_class(pool, text, strlen(text));
}

static void equal_names_are_one_pointer(void **state)
{
	char copy[] = "put";
	size_t before;

	assert_ptr_equal(intern("put"), intern(copy));
	before = java_names_bytes(pool);
	intern("put");
	assert_int_equal(java_names_bytes(pool), before);
	assert_ptr_not_equal(intern("put"), intern("putAll"));
}

static void a_class_gets_dots(void **state)
{
	assert_string_equal(intern_class("java/util/HashMap$Node"), "java.util.HashMap$Node");
	assert_string_equal(intern_class(""), "");
}

static void the_address_of_a_hidden_class_is_masked_in_every_spelling(void **state)
{
	assert_string_equal(intern_class("Main$$Lambda$14+0x0000000800c01200"), "Main$$Lambda$14");
	assert_string_equal(intern_class("Main$$Lambda.0x0000000800c01200"), "Main$$Lambda");
	assert_string_equal(intern_class("a/Main$$Lambda/0x0000000800c01200"), "a.Main$$Lambda");
	assert_string_equal(intern_class("java/lang/invoke/LambdaForm$MH+0x00007f0123456789"),
			    "java.lang.invoke.LambdaForm$MH");
}

static void text_that_only_looks_like_an_address_stays(void **state)
{
	assert_string_equal(intern_class("a/+0xfeed"), "a.+0xfeed");
	assert_string_equal(intern_class("a/Deadbeef"), "a.Deadbeef");
	assert_string_equal(intern_class("deadbeefdeadbeef"), "deadbeefdeadbeef");
	assert_string_equal(intern_class("x+0x123456789abcdefg"), "x+0x123456789abcdefg");
}

static void modified_utf8_becomes_utf8(void **state)
{
	assert_string_equal(intern("m\xc3\xa9thode\xe5\x90\x8d"), "méthode名");
	assert_string_equal(intern("\xed\xa0\xb5\xed\xb2\xb3"), "𝒳"); /* U+1D4B3 */
	assert_string_equal(intern("a\xc0\x80z"), "a\xef\xbf\xbd\xef\xbf\xbdz");
	assert_string_equal(intern("\xed\xa0\xb5x"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx");
}

static void control_characters_do_not_reach_a_terminal(void **state)
{
	assert_null(strchr(intern("a\x1b[31mb\n"), '\x1b'));
	assert_null(strchr(intern("a\x1b[31mb\n"), '\n'));
	assert_string_equal(java_names_intern(pool, "a\0b", 3), "a?b");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_names_are_one_pointer),
		TEST(a_class_gets_dots),
		TEST(the_address_of_a_hidden_class_is_masked_in_every_spelling),
		TEST(text_that_only_looks_like_an_address_stays),
		TEST(modified_utf8_becomes_utf8),
		TEST(control_characters_do_not_reach_a_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
