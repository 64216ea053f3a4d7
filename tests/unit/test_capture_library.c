/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "capture/probes/library.h"

static void a_library_is_called_by_its_name_with_or_without_version(void **state)
{
	assert_true(library_is_called("libc.so.6", "libc"));
	assert_true(library_is_called("libc.so.6", "libc.so"));
	assert_true(library_is_called("libc.so.6", "libc.so.6"));
	assert_true(library_is_called("libc-2.31.so", "libc"));
	assert_true(library_is_called("libstdc++.so.6.0.30", "libstdc++.so.6"));
	assert_true(library_is_called("bash", "bash"));
	assert_false(library_is_called("libcap.so.2", "libc"));
	assert_false(library_is_called("libc.so.6", "libc.so.60"));
	assert_false(library_is_called("libc.so.60", "libc.so.6"));
	assert_false(library_is_called("libc-client.so.2007", "libc"));
	assert_false(library_is_called("libc.musl", "libc"));
	assert_false(library_is_called("libc.so.6", "lib"));
}

static void the_library_of_a_process_is_the_one_it_has_mapped(void **state)
{
	auto_free char *path = NULL, *real = NULL;

	assert_int_equal(library_find_mapped(getpid(), "libc", &path), 0);
	real = realpath(path, NULL);
	assert_non_null(real);
	assert_string_equal(real, path);
	assert_non_null(strstr(path, "/libc"));
	assert_int_equal(library_find_mapped(getpid(), "libnowhere", &path), -ENOENT);
}

static void the_linkers_cache_is_searched_before_programs(void **state)
{
	auto_free char *path = NULL, *program = NULL;

	if (access(LIBRARY_CACHE, R_OK))
		skip_because("there is no " LIBRARY_CACHE);
	assert_int_equal(library_find(LIBRARY_CACHE, "libc", &path), 0);
	assert_non_null(strstr(path, "/libc.so.6"));
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(library_find(LIBRARY_CACHE, "sh", &program), 0);
	assert_non_null(strstr(program, "/sh"));
	assert_int_equal(library_find(LIBRARY_CACHE, "libnowhere", &program), -ENOENT);
}

/* Damages every byte of the tables in turn, and cuts the file at every length. */
static void a_damaged_cache_is_read_within_its_bounds(void **state)
{
	char name[] = "/tmp/test_capture_library.XXXXXX";
	auto_free char *bytes = NULL;
	size_t len;

	if (file_read(LIBRARY_CACHE, 1 << 20, &bytes, &len))
		skip_because("there is no " LIBRARY_CACHE);
	int fd = mkstemp(name);
	size_t max = len < 2000 ? len : 2000;
	for (size_t i = 0; i < max; i += 7) {
		char *path = NULL, old = bytes[i];
		bytes[i] = (char)0xff;
		assert_int_equal(pwrite(fd, bytes, max, 0), max);
		assert_int_equal(ftruncate(fd, (off_t)(max - i / 2)), 0);
		library_find(name, "libc", &path);
		free(path);
		bytes[i] = old;
	}
	close(fd);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_is_called_by_its_name_with_or_without_version),
		cmocka_unit_test(the_library_of_a_process_is_the_one_it_has_mapped),
		cmocka_unit_test(the_linkers_cache_is_searched_before_programs),
		cmocka_unit_test(a_damaged_cache_is_read_within_its_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
