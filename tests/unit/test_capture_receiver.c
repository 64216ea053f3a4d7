/* SPDX-License-Identifier: Apache-2.0 */
/* Records of processes that start and end, from the BPF programs. */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "abi.h"
#include "capture/kernel/privilege.h"
#include "capture/kernel/receiver.h"
#include "capture/programs/node_programs.h"

#define FORKS 997 /* each makes two records of some 64 bytes: many times the ring */

struct seen {
	size_t nr;
	pid_t parent;
};

static void count_fork(const void *record, size_t len, void *ctx)
{
	const struct process_record *r = record;
	struct seen *seen = ctx;

	assert_int_equal(len, sizeof(*r));
	seen->nr += r->kind == RECORD_FORK && (pid_t)r->parent_pid == seen->parent;
}

static void fork_children(size_t nr)
{
	for (; nr; nr--) {
		pid_t child = fork();
		assert_true(child >= 0);
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

static struct node_programs *load(void)
{
	const struct node_programs_options options = { .tables = { 2, 1, 1 },
						       .ring_bytes = 16 << 10 };
	struct node_programs *bpf;

	if (privilege_check())
		skip();
	assert_int_equal(node_programs_load(&options, &bpf), 0);
	return bpf;
}

static void records_that_are_not_taken_do_not_fill_the_ring(void **state)
{
	struct seen seen = { .parent = getpid() };
	struct node_programs *bpf = load();
	struct receiver *r = receiver_new(node_programs_ring(bpf), 0, true);

	assert_int_equal(node_programs_attach(bpf), 0);
	fork_children(FORKS);
	assert_int_equal(node_programs_nr_lost(bpf), 0);

	struct parcel *parcels = receiver_take(r);
	parcels_each(parcels, count_fork, &seen);
	assert_int_equal(seen.nr, FORKS);
	assert_true(receiver_backlog(r) >= FORKS * sizeof(struct process_record));
	receiver_return(r, parcels);
	receiver_free(r);
	node_programs_free(bpf);
}

static void every_record_is_taken_once(void **state)
{
	struct seen seen = { .parent = getpid() };
	struct node_programs *bpf = load();
	struct receiver *r = receiver_new(node_programs_ring(bpf), 0, true);
	struct parcel *parcels = NULL;

	assert_int_equal(node_programs_attach(bpf), 0);
	for (int i = 0; i < 13; i++) {
		fork_children(7);
		parcels_add(&parcels, receiver_take(r));
	}
	parcels_each(parcels, count_fork, &seen);
	assert_int_equal(seen.nr, 13 * 7);
	receiver_return(r, parcels);
	receiver_free(r);
	node_programs_free(bpf);
}

static void a_full_backlog_leaves_records_in_the_ring(void **state)
{
	const size_t most = 16 << 10;
	struct node_programs *bpf = load();
	struct receiver *r = receiver_new(node_programs_ring(bpf), most, true);

	assert_int_equal(node_programs_attach(bpf), 0);
	fork_children(FORKS);
	assert_true(node_programs_nr_lost(bpf) > 0);
	assert_true(receiver_backlog(r) < most + 2 * sizeof(struct process_record));
	receiver_free(r);
	node_programs_free(bpf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_that_are_not_taken_do_not_fill_the_ring),
		cmocka_unit_test(every_record_is_taken_once),
		cmocka_unit_test(a_full_backlog_leaves_records_in_the_ring),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
