/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "jvm/memory/java_frame.h"

static const char *class_of(struct java_names *pool, const char *internal)
{
	return java_names_intern_class(pool, internal, strlen(internal));
}

static void equal_bytes_are_one_pointer(void **state)
{
	struct java_names *pool = java_names_new();
	const char *run = java_names_intern(pool, "run()", 3);

	assert_string_equal(run, "run");
	assert_ptr_equal(java_names_intern(pool, "run", 3), run);
	size_t bytes = java_names_bytes(pool);
	assert_ptr_not_equal(java_names_intern(pool, "ran", 3), run);
	assert_true(java_names_bytes(pool) > bytes);
	java_names_free(pool);
}

static void a_class_is_dotted_and_its_address_is_masked(void **state)
{
	struct java_names *pool = java_names_new();

	assert_string_equal(class_of(pool, "java/util/HashMap$Node"), "java.util.HashMap$Node");
	assert_string_equal(class_of(pool, "a/B$$Lambda+0x00007f3c01000400"), "a.B$$Lambda");
	assert_string_equal(class_of(pool, "a/B$$Lambda$14.0x0000000800c03000"), "a.B$$Lambda$14");
	assert_string_equal(class_of(pool, "a/B$$Lambda/0x0000000800c03000"), "a.B$$Lambda");
	assert_string_equal(class_of(pool, "a/B123"), "a.B123");
	assert_string_equal(class_of(pool, "/1"), ".1");
	assert_string_equal(class_of(pool, ""), "");
	java_names_free(pool);
}

static const char *type(struct java_names *pool, const char *signature)
{
	return java_names_intern_type(pool, signature, strlen(signature));
}

static void classes_of_objects_read_as_in_source(void **state)
{
	struct java_names *pool = java_names_new();

	assert_string_equal(type(pool, "Ljava/lang/String;"), "java.lang.String");
	assert_string_equal(type(pool, "java/util/Map$Entry"), "java.util.Map$Entry");
	assert_string_equal(type(pool, "[Ljava/lang/String;"), "java.lang.String[]");
	assert_string_equal(type(pool, "[[I"), "int[][]");
	assert_string_equal(type(pool, "[Z"), "boolean[]");
	assert_string_equal(type(pool, "[Q"), "Q[]");
	assert_string_equal(type(pool, "B"), "B");
	assert_string_equal(type(pool, "["), "[]");
	assert_string_equal(type(pool, "L;"), "L;");
	assert_string_equal(type(pool, ""), "");
	java_names_free(pool);
}

static void surrogates_become_one_character(void **state)
{
	struct java_names *pool = java_names_new();

	assert_string_equal(java_names_intern(pool, "x\xed\xa0\xbd\xed\xb8\x80", 7),
			    "x\xf0\x9f\x98\x80");
	assert_string_equal(java_names_intern(pool, "\xed\xa0\xbd", 3),
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	java_names_free(pool);
}

static void any_bytes_become_clean_text(void **state)
{
	struct java_names *pool = java_names_new();
	char bytes[41];

	srand(3);
	for (int i = 0; i < 4001; i++) {
		size_t len = (size_t)rand() % sizeof(bytes);
		for (size_t k = 0; k < len; k++)
			bytes[k] = (char)(rand() % 4 ? rand() : 0xe0 | (rand() & 0xf));
		assert_true(utf8_is_clean(java_names_intern(pool, bytes, len), 65535));
		assert_true(utf8_is_clean(java_names_intern_class(pool, bytes, len), 65535));
	}
	java_names_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bytes_are_one_pointer),
		cmocka_unit_test(a_class_is_dotted_and_its_address_is_masked),
		cmocka_unit_test(classes_of_objects_read_as_in_source),
		cmocka_unit_test(surrogates_become_one_character),
		cmocka_unit_test(any_bytes_become_clean_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
