/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

static int enter_folder(void **state)
{
	static char folder[] = "/tmp/test_base_file.XXXXXX";

	strcpy(folder, "/tmp/test_base_file.XXXXXX");
	*state = mkdtemp(folder);
	return !*state || chdir(*state);
}

static int leave_folder(void **state)
{
	unlink("out");
	return chdir("/") || rmdir(*state);
}

static void write_out(const char *text)
{
	auto_fclose FILE *f = fopen("out", "we");

	assert_non_null(f);
	fputs(text, f);
}

static void a_file_above_the_size_limit_is_refused(void **state)
{
	auto_free char *data = NULL;
	size_t len;

	write_out("12345");
	assert_int_equal(file_read("out", 4, &data, &len), -EFBIG);
	assert_null(data);
	assert_int_equal(file_read("out", 5, &data, &len), 0);
	assert_int_equal(len, 5);
}

static int count_line(const char *line, const char *end, void *ctx)
{
	size_t *sum = ctx;

	*sum += 1000 + (size_t)(end - line);
	return *line == '!' ? -ECANCELED : 0;
}

static int each_line_of(const char *text, size_t max, size_t *sum)
{
	write_out(text);
	auto_close int fd = open("out", O_RDONLY | O_CLOEXEC);

	*sum = 0;
	return file_each_line(fd, max, count_line, sum);
}

static void every_complete_line_is_visited(void **state)
{
	size_t sum;

	assert_int_equal(each_line_of("", 4, &sum), 0);
	assert_int_equal(sum, 0);
	assert_int_equal(each_line_of("a\n\nfour\nbb\ncut", 4, &sum), 0);
	assert_int_equal(sum, 4007);
	assert_int_equal(each_line_of("a\n!\nb\n", 4, &sum), -ECANCELED);
	assert_int_equal(sum, 2002);
	assert_int_equal(each_line_of("a\nfive5\nb\n", 4, &sum), -EBADMSG);
	assert_int_equal(each_line_of("a\nfive5", 4, &sum), -EBADMSG);
	assert_int_equal(file_each_line(-1, 4, count_line, &sum), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_above_the_size_limit_is_refused,
						enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(every_complete_line_is_visited, enter_folder,
						leave_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
