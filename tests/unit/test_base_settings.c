/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

static void blanks_are_cut_off_both_ends(void **state)
{
	static const char *const cases[][2] = {
		{ "a", "a" }, { " a b\t\r", "a b" }, { " \t ", "" }, { "", "" }
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[16];

		strcpy(text, cases[i][0]);
		assert_string_equal(settings_trim(text), cases[i][1]);
	}
}

static int refuse_bad(void *ctx, char *line, struct str *why)
{
	int *nr = ctx;

	++*nr;
	if (strcmp(line, "bad"))
		return 0;
	str_add(why, "it is bad");
	return -ENOENT;
}

static void a_fault_names_its_line_and_ends_the_reading(void **state)
{
	auto_str struct str why = { 0 };
	char good[] = "a\n\nb", bad[] = "a\n\nbad\nb";
	int nr = 0;

	assert_int_equal(settings_each_line(good, refuse_bad, &nr, &why), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(settings_each_line(bad, refuse_bad, &nr, &why), -EINVAL);
	assert_int_equal(nr, 6);
	assert_string_equal(why.at, "line 3: it is bad");
}

static void files_that_others_may_change_are_refused(void **state)
{
	char path[] = "/tmp/settings-XXXXXX";
	auto_close int fd = mkstemp(path), device = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_str struct str why = { 0 };

	assert_true(fd >= 0 && !unlink(path) && device >= 0);
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(settings_check_owner(fd, 022, "others may write it", &why), 0);
	assert_int_equal(settings_check_owner(fd, 077, "others may read it", &why), -EPERM);
	assert_string_equal(why.at, "others may read it; run: chown root FILE; chmod 600 FILE");
	str_clear(&why);
	assert_int_equal(settings_check_owner(device, 0, "", &why), -EPERM);
	assert_string_equal(why.at, "it is no regular file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_are_cut_off_both_ends),
		cmocka_unit_test(a_fault_names_its_line_and_ends_the_reading),
		cmocka_unit_test(files_that_others_may_change_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
