/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/programs/programs.h"
#include "capture/targets/targets.h"

/* Fills maps that do not exist, and checks the message on standard error. */
static void assert_says(struct targets *t, const char *want)
{
	const struct targets_fds none = { -1, -1, -1, -1 };
	int file = memfd_create("stderr", MFD_CLOEXEC), old = dup(STDERR_FILENO);
	char said[256] = "";

	dup2(file, STDERR_FILENO);
	int err = targets_fill(t, &none);
	dup2(old, STDERR_FILENO);
	close(old);
	assert_int_equal(err, -EBADF);
	assert_true(pread(file, said, sizeof(said) - 1, 0) > 0);
	close(file);
	assert_non_null(strstr(said, want));
}

static void a_selector_that_the_kernel_rejects_is_named(void **state)
{
	char *command[] = { "sleep", "1", NULL };
	auto_str struct str why = { 0 };
	struct targets *t = targets_new();

	assert_int_equal(targets_add(t, TARGET_COMM, false, "java", &why), 0);
	assert_says(t, "rejects --comm java: ");
	targets_free(t);
	t = targets_new();
	targets_add_command(t, 4321, command);
	assert_says(t, "rejects --pid 4321: ");
	targets_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_selector_that_the_kernel_rejects_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
