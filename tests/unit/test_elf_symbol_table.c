/* SPDX-License-Identifier: Apache-2.0 */
/* Variables by their symbols, in the file of this test. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "elf/functions.h"

static volatile int a_variable_with_this_name __attribute__((used)) = 7;

static int find(const char *name, u64 *vaddr)
{
	auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	return symbol_table_find_variable(e, name, vaddr);
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(u64 *)bias = info->dlpi_addr;
	return 1; /* the program is first */
}

static void a_variable_is_found_where_it_is_in_memory(void **state)
{
	u64 vaddr = 0, bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	assert_int_equal(find("a_variable_with_this_name", &vaddr), 0);
	assert_int_equal(*(volatile int *)(vaddr + bias), 7);
	a_variable_with_this_name = 11;
	assert_int_equal(*(volatile int *)(vaddr + bias), 11);
}

static void a_part_of_a_name_finds_nothing(void **state)
{
	u64 vaddr;

	assert_int_equal(find("a_variable_with_this", &vaddr), -ENOENT);
	assert_int_equal(find("a_variable_with_this_name_", &vaddr), -ENOENT);
}

static void a_function_is_no_variable(void **state)
{
	u64 vaddr;

	assert_int_equal(find("main", &vaddr), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_is_found_where_it_is_in_memory),
		cmocka_unit_test(a_part_of_a_name_finds_nothing),
		cmocka_unit_test(a_function_is_no_variable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
