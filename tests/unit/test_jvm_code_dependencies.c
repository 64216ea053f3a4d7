/* SPDX-License-Identifier: Apache-2.0 */
/* The variable of libjvm that a worker looks up. This test stands for libjvm. */
#include "test.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "jvm/process/code_dependencies.h"

/* As in libjvm. */
static volatile bool
	is_recorded __asm__("_ZN11JvmtiExport30_all_dependencies_are_recordedE") = true;

/* The address of the program's first byte. */
static int take_start(struct dl_phdr_info *info, size_t size, void *start)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && !info->dlpi_phdr[i].p_offset)
			*(u64 *)start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	return 1; /* the program is first */
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(u64 *)bias = info->dlpi_addr;
	return 1;
}

static void the_variable_is_found_in_the_mapped_file(void **state)
{
	u64 start = 0, bias = 0, vaddr = 0;
	struct work *work = NULL;

	dl_iterate_phdr(take_start, &start);
	dl_iterate_phdr(take_bias, &bias);
	assert_int_equal(code_dependencies_search(NULL, getpid(), start, &work), 0);
	assert_int_equal(code_dependencies_result(work, &vaddr), 0);
	assert_ptr_equal((void *)(vaddr + bias), &is_recorded);
	work_free(work);
}

static void only_the_begin_of_a_file_is_searched(void **state)
{
	struct work *work = NULL;
	u64 start = 0;

	dl_iterate_phdr(take_start, &start);
	assert_int_equal(code_dependencies_search(NULL, getpid(), start + 4096, &work), -ENOENT);
	assert_int_equal(code_dependencies_search(NULL, getpid(), 0, &work), -ENOENT);
	assert_null(work);
}

static void an_answer_of_another_length_is_refused(void **state)
{
	const u64 answer[2] = { 0x1234, 0 };
	u64 vaddr = 0;

	assert_int_equal(code_dependencies_decode(answer, 8, &vaddr), 0);
	assert_int_equal(vaddr, 0x1234);
	assert_int_equal(code_dependencies_decode(answer, 7, &vaddr), -EBADMSG);
	assert_int_equal(code_dependencies_decode(answer, 16, &vaddr), -EBADMSG);
	assert_int_equal(code_dependencies_decode(&answer[1], 8, &vaddr), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_variable_is_found_in_the_mapped_file),
		cmocka_unit_test(only_the_begin_of_a_file_is_searched),
		cmocka_unit_test(an_answer_of_another_length_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
