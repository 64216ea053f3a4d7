/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "capture/programs/load.h"
#include "capture/programs/node_programs.h"
#include "capture/programs/programs.h"

static void a_program_that_no_event_chose_cannot_be_attached(void **state)
{
	const struct node_programs_options own = { .tables = { 2, 1, 1 }, .ring_bytes = 4096 };
	struct programs_options options = { .nr_slots = 1 };
	struct node_programs *node;
	struct programs_uprobe at = { .path = "/bin/true", .pid = -1 };
	struct bpf_link *link;
	struct programs *bpf;

	if (geteuid() != 0)
		skip_because("loading BPF programs needs to be root");
	if (node_programs_load(&own, &node))
		skip_because("no BPF programs can be loaded here");
	options.tables = node_programs_tables(node);
	if (programs_load_begin(&options, &bpf) || programs_load_end(bpf))
		skip_because("no BPF programs can be loaded here");
	for (at.program = PROGRAM_NONE; at.program <= NR_PROGRAMS; at.program++)
		assert_int_equal(programs_attach_program(bpf, &at, &link), -ENOENT);
	programs_free(bpf);
	node_programs_free(node);
}

static void the_time_of_the_nodes_programs_counts(void **state)
{
	const struct node_programs_options own = { .tables = { 2, 1, 1 }, .ring_bytes = 4096 };
	struct node_programs *node;

	if (geteuid() != 0)
		skip_because("loading BPF programs needs to be root");
	auto_close int timing_fd = load_timing_open();
	if (timing_fd < 0 || node_programs_load(&own, &node))
		skip_because("no BPF programs can be loaded or timed here");
	assert_int_equal(node_programs_run_ns(node), 0);
	assert_int_equal(node_programs_attach(node), 0);
	pid_t child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_true(node_programs_run_ns(node) > 0);
	node_programs_free(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_no_event_chose_cannot_be_attached),
		cmocka_unit_test(the_time_of_the_nodes_programs_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
