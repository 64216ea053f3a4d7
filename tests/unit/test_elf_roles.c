/* SPDX-License-Identifier: Apache-2.0 */
/* Functions recognised by their code: in this machine's libc, and in damaged copies of it. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "elf/debugfile.h"
#include "elf/symbols.h"

#define BUDGET (32u << 20)

static const char *const roles[] = { "clone3", "start_thread", "__libc_start_call_main" };

static u8 *bytes;
static size_t len;

static int read_libc(void **state)
{
	Dl_info info;

	assert_true(dladdr((void *)gnu_get_libc_version, &info));
	FILE *f = fopen(info.dli_fname, "re");
	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	len = (size_t)ftell(f);
	rewind(f);
	bytes = xmalloc(len);
	assert_int_equal(fread(bytes, 1, len, f), len);
	fclose(f);
	return 0;
}

static int free_libc(void **state)
{
	free(bytes);
	return 0;
}

static void open_libc(struct elf **e)
{
	assert_int_equal(elf_open_memory(bytes, len, e), 0);
	if (elf_section_find(*e, ".symtab"))
		skip_because("this libc is not stripped");
}

/* The address of a symbol in libc's debug file; 0 if it is missing. */
static u64 true_address(const struct elf *libc, const struct symbols *truth, const char *name)
{
	size_t nr;
	const struct elf_segment *segments = elf_segments(libc, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (segments[i].type != PT_LOAD || !(segments[i].flags & PF_X))
			continue;
		u64 end = segments[i].vaddr + segments[i].memsz, start;
		for (u64 at = segments[i].vaddr; at < end; at++) {
			const char *found = symbols_find(truth, at, &start);
			if (found && start == at && !strcmp(found, name))
				return at;
		}
	}
	return 0;
}

static int open_on_host(enum debug_place place, const char *path, void *ctx)
{
	return debugfile_open_host(DEBUG_ROOT, place, path);
}

static void each_role_is_the_function_of_that_name(void **state)
{
	auto_elf struct elf *e = NULL, *debug = NULL;
	open_libc(&e);
	const struct debug_places in = { .path = "", .open = open_on_host };
	auto_close int fd = debugfile_find(e, &in);

	if (fd < 0 || elf_open_fd(fd, &debug))
		skip_because("the symbols of this libc are not installed");
	const struct elf *more[] = { debug };
	auto_symbols struct symbols *inferred = symbols_read(e, NULL, 0, BUDGET);
	auto_symbols struct symbols *truth = symbols_read(e, more, 1, BUDGET);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		u64 at = true_address(e, truth, roles[i]), start = 0;
		if (!at)
			continue;
		const char *name = symbols_find(inferred, at, &start);
		assert_non_null(name);
		assert_string_equal(name, roles[i]);
		assert_int_equal(start, at);
		assert_true(symbols_is_role(inferred, name));
	}
}

static void a_file_with_symbols_has_no_roles(void **state)
{
	auto_elf struct elf *e = NULL, *debug = NULL;
	open_libc(&e);
	const struct debug_places in = { .path = "", .open = open_on_host };
	auto_close int fd = debugfile_find(e, &in);
	u64 start;

	if (fd < 0 || elf_open_fd(fd, &debug))
		skip_because("the symbols of this libc are not installed");
	const struct elf *more[] = { debug };
	auto_symbols struct symbols *truth = symbols_read(e, more, 1, BUDGET);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		u64 at = true_address(e, truth, roles[i]);
		assert_true(!at || !symbols_is_role(truth, symbols_find(truth, at, &start)));
	}
}

static void an_exported_name_is_not_a_role(void **state)
{
	auto_elf struct elf *e = NULL;
	open_libc(&e);
	auto_symbols struct symbols *s = symbols_read(e, NULL, 0, BUDGET);
	u64 at = true_address(e, s, "pthread_create"), start;

	assert_int_not_equal(at, 0);
	assert_false(symbols_is_role(s, symbols_find(s, at, &start)));
}

/* With any code, the search ends and names nothing outside the file's code. */
static void damaged_code_does_no_harm(void **state)
{
	auto_free u8 *copy = xmemdup(bytes, len);

	srand(7);
	for (int round = 0; round < 11; round++) {
		for (int i = 0; i < 20011; i++)
			copy[4096 + (size_t)rand() % (len - 8192)] = (u8)(rand() % 3 ? 0xe8 : 0x48);
		auto_elf struct elf *e = NULL;
		if (elf_open_memory(copy, len, &e))
			continue;
		auto_symbols struct symbols *s = symbols_read(e, NULL, 0, BUDGET);
		assert_non_null(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_role_is_the_function_of_that_name),
		cmocka_unit_test(a_file_with_symbols_has_no_roles),
		cmocka_unit_test(an_exported_name_is_not_a_role),
		cmocka_unit_test(damaged_code_does_no_harm),
	};

	return cmocka_run_group_tests(tests, read_libc, free_libc);
}
