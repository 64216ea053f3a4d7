/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/types.h"
#include "jvm/process/java_args.h"

/* A literal without C's final NUL: the last argument has its own. */
#define MAIN_OF(args, literal)                                    \
	({                                                        \
		java_args_parse(literal, sizeof(literal), &args); \
		args.main;                                        \
	})

static void the_class_follows_the_options(void **state)
{
	struct java_args args;

	assert_string_equal(MAIN_OF(args, "java\0-Xmx1g\0-cp\0a.jar:b\0com.x.Main\0-jar\0no"),
			    "com.x.Main");
	assert_int_equal(args.main_at, 4);
	assert_string_equal(MAIN_OF(args, "java\0--class-path\0a\0-Da=b\0X"), "X");
	assert_string_equal(MAIN_OF(args, "java\0--class-path=a\0-Da=b\0X"), "X");
	assert_string_equal(MAIN_OF(args, "java\0--add-opens\0a/b=ALL\0--add-opens=a/b=c\0X"), "X");
}

static void jars_and_modules_are_found(void **state)
{
	struct java_args args;

	assert_string_equal(MAIN_OF(args, "java\0-jar\0/opt/app.jar\0serve"), "/opt/app.jar");
	assert_int_equal(args.main_at, 2);
	assert_string_equal(MAIN_OF(args, "java\0-p\0mods\0-m\0a.b/c.D"), "a.b/c.D");
	assert_string_equal(MAIN_OF(args, "java\0--module=a.b/c.D\0x"), "a.b/c.D");
}

static void files_of_options_are_counted_up_to_the_class(void **state)
{
	struct java_args args;

	assert_string_equal(MAIN_OF(args, "java\0@opts\0-Xint\0@more\0X\0@not"), "X");
	assert_int_equal(args.nr_argfiles, 2);
	assert_int_equal(args.main_at, 4);
}

static void a_line_without_a_class_has_none(void **state)
{
	struct java_args args;

	assert_string_equal(MAIN_OF(args, "java\0-version"), "");
	assert_int_equal(args.main_at, 2);
	assert_string_equal(MAIN_OF(args, "java\0-jar"), "");
	assert_string_equal(MAIN_OF(args, "java\0-cp"), "");
	java_args_parse("", 0, &args);
	assert_string_equal(args.main, "");
}

static void empty_arguments_are_arguments(void **state)
{
	static const char line[] = "java\0\0X";
	const char *arg = java_args_next(line, sizeof(line), NULL);

	assert_string_equal(arg, "java");
	arg = java_args_next(line, sizeof(line), arg);
	assert_string_equal(arg, "");
	arg = java_args_next(line, sizeof(line), arg);
	assert_string_equal(arg, "X");
	assert_null(java_args_next(line, sizeof(line), arg));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_class_follows_the_options),
		cmocka_unit_test(jars_and_modules_are_found),
		cmocka_unit_test(files_of_options_are_counted_up_to_the_class),
		cmocka_unit_test(a_line_without_a_class_has_none),
		cmocka_unit_test(empty_arguments_are_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
