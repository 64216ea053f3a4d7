/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <unistd.h>

#include "capture/kernel/programs.h"

static void a_program_that_does_not_exist_is_an_error(void **state)
{
	const struct programs_uprobe at = { .program = "no_such_program",
					    .path = "/bin/true",
					    .pid = -1 };
	struct programs_options options = { .nr_slots = 1 };
	struct bpf_link *link;
	struct programs *bpf;

	if (geteuid() != 0)
		skip_because("loading BPF programs needs to be root");
	if (programs_load(&options, &bpf))
		skip_because("no BPF programs can be loaded here");
	assert_int_equal(programs_attach_program(bpf, &at, &link), -ENOENT);
	programs_free(bpf);
	options.programs[0] = "no_such_program";
	assert_int_equal(programs_load(&options, &bpf), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_does_not_exist_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
