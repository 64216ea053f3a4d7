/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <unistd.h>

#include "capture/kernel/programs.h"

static void a_program_that_no_event_chose_cannot_be_attached(void **state)
{
	const struct programs_options options = { .nr_slots = 1 };
	struct programs_uprobe at = { .path = "/bin/true", .pid = -1 };
	struct bpf_link *link;
	struct programs *bpf;

	if (geteuid() != 0)
		skip_because("loading BPF programs needs to be root");
	if (programs_load(&options, &bpf))
		skip_because("no BPF programs can be loaded here");
	for (at.program = PROGRAM_NONE; at.program <= NR_PROGRAMS; at.program++)
		assert_int_equal(programs_attach_program(bpf, &at, &link), -ENOENT);
	programs_free(bpf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_no_event_chose_cannot_be_attached),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
