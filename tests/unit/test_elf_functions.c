/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/functions.h"

#define SELF "/proc/self/exe"

/* One function of a file; -ENOENT if it is missing. */
static int find_in(const char *path, const char *name, struct function *out, struct near *near)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = functions_find(fd, &name, 1, out, near);

	close(fd);
	return err ? err : out->file_off ? 0 : -ENOENT;
}

__attribute__((noinline)) int a_function_with_this_name(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

static void a_function_is_found_where_its_code_is_in_the_file(void **state)
{
	const unsigned char *code = (const unsigned char *)a_function_with_this_name;
	unsigned char in_file[8];
	struct near near = { .wanted = "a_function_with_this_name", .max = 2 };
	struct function found;

	assert_int_equal(a_function_with_this_name(3), 3);
	assert_int_equal(find_in(SELF, "a_function_with_this_name", &found, &near), 0);
	assert_null(near.names[0]);
	FILE *f = fopen(SELF, "re");
	assert_int_equal(fseek(f, (long)found.file_off, SEEK_SET), 0);
	assert_int_equal(fread(in_file, 1, sizeof(in_file), f), sizeof(in_file));
	fclose(f);
	assert_memory_equal(in_file, code, sizeof(in_file));
}

static void a_missing_function_gives_the_nearest_names(void **state)
{
	struct near near = { .wanted = "a_function_with_thus_nam", .max = 3 };
	struct function found;

	assert_int_equal(find_in(SELF, "a_function_with_thus_nam", &found, &near), -ENOENT);
	assert_string_equal(near.names[0], "a_function_with_this_name");
	near_fini(&near);
}

static void a_name_unlike_all_others_gets_no_suggestions(void **state)
{
	struct near near = { .wanted = "qqqqzzzzqqqqzzzz", .max = 3 };
	struct function found;

	assert_int_equal(find_in(SELF, "qqqqzzzzqqqqzzzz", &found, &near), -ENOENT);
	assert_null(near.names[0]);
	assert_int_equal(find_in("/etc/hostname", "x", &found, &near), -ENOEXEC);
	assert_int_equal(find_in("/dev/null", "x", &found, &near), -ENOEXEC);
}

/*
 * The names that a C++ compiler gives to Outer::Inner::run(int) const and Outer::Inner::runner().
 */
__attribute__((noinline)) int _ZNK5Outer5Inner3runEi(int x)
{
	return a_function_with_this_name(x) + 1;
}

__attribute__((noinline)) int _ZN5Outer5Inner6runnerEv(void)
{
	return a_function_with_this_name(7);
}

static void a_method_is_found_without_its_parameters(void **state)
{
	struct function method, symbol;

	assert_int_equal(_ZNK5Outer5Inner3runEi(1) + _ZN5Outer5Inner6runnerEv(), 9);
	assert_int_equal(find_in(SELF, "Outer::Inner::run", &method, NULL), 0);
	assert_int_equal(find_in(SELF, "_ZNK5Outer5Inner3runEi", &symbol, NULL), 0);
	assert_int_equal(method.file_off, symbol.file_off);
	assert_true(symbol.size > 0);
	assert_int_equal(find_in(SELF, "Inner::run", &method, NULL), -ENOENT);
	assert_int_equal(find_in(SELF, "Outer::Inner", &method, NULL), -ENOENT);
}

static void several_names_are_found_at_once(void **state)
{
	const char *const names[] = { "nowhere", "a_function_with_this_name", "main" };
	struct function out[3], one;

	int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	assert_int_equal(functions_find(fd, names, 3, out, NULL), 0);
	close(fd);
	assert_int_equal(out[0].file_off, 0);
	assert_int_equal(find_in(SELF, "main", &one, NULL), 0);
	assert_int_equal(out[2].file_off, one.file_off);
	assert_true(out[1].file_off && out[1].file_off != out[2].file_off);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_where_its_code_is_in_the_file),
		cmocka_unit_test(a_missing_function_gives_the_nearest_names),
		cmocka_unit_test(a_name_unlike_all_others_gets_no_suggestions),
		cmocka_unit_test(a_method_is_found_without_its_parameters),
		cmocka_unit_test(several_names_are_found_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
