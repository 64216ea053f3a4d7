/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf/functions.h"

#define SELF "/proc/self/exe"

__attribute__((noinline)) int a_function_with_this_name(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

static void free_names(char **near, size_t max)
{
	for (size_t i = 0; i < max; i++)
		free(near[i]);
}

static void a_function_is_found_where_its_code_is_in_the_file(void **state)
{
	const unsigned char *code = (const unsigned char *)a_function_with_this_name;
	unsigned char in_file[8];
	char *near[2] = { 0 };
	u64 off;

	assert_int_equal(a_function_with_this_name(3), 3);
	assert_int_equal(functions_find(SELF, "a_function_with_this_name", &off, near, 2), 0);
	assert_null(near[0]);
	FILE *f = fopen(SELF, "re");
	assert_int_equal(fseek(f, (long)off, SEEK_SET), 0);
	assert_int_equal(fread(in_file, 1, sizeof(in_file), f), sizeof(in_file));
	fclose(f);
	assert_memory_equal(in_file, code, sizeof(in_file));
}

static void a_missing_function_gives_the_nearest_names(void **state)
{
	char *near[3] = { 0 };
	u64 off;

	assert_int_equal(functions_find(SELF, "a_function_with_thus_nam", &off, near, 3), -ENOENT);
	assert_string_equal(near[0], "a_function_with_this_name");
	free_names(near, 3);
}

static void what_resembles_nothing_gets_no_names(void **state)
{
	char *near[3] = { 0 };
	u64 off;

	assert_int_equal(functions_find(SELF, "qqqqzzzzqqqqzzzz", &off, near, 3), -ENOENT);
	assert_null(near[0]);
	assert_int_equal(functions_find("/etc/hostname", "x", &off, near, 3), -ENOEXEC);
	assert_int_equal(functions_find("/dev/null", "x", &off, near, 3), -ENOEXEC);
	assert_int_equal(functions_find("/nowhere", "x", &off, near, 3), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_where_its_code_is_in_the_file),
		cmocka_unit_test(a_missing_function_gives_the_nearest_names),
		cmocka_unit_test(what_resembles_nothing_gets_no_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
