/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "base/alloc.h"
#include "capture/samples/inbox.h"
#include "capture/unwind/sample_stack.h"

/* Only compared. */
static struct recording *const recording = (void *)8, *const other = (void *)16;

static void add_process(struct inbox *in, u64 time_ns, u32 kind)
{
	static struct process_record records[3];
	static size_t nr;
	struct process_record *r = &records[nr++ % ARRAY_SIZE(records)];

	*r = (struct process_record){ .kind = kind, .time_ns = time_ns };
	inbox_add_record(r, sizeof(*r), &(struct inbox_feed){ in, NULL });
}

static void items_are_sorted_by_time_then_by_arrival(void **state)
{
	struct side_event mmap = { .kind = SIDE_MMAP, .time_ns = 5, .mapping.path = "/lib/x.so" };
	struct inbox in = { 0 };

	add_process(&in, 7, RECORD_EXIT);
	add_process(&in, 5, RECORD_FORK);
	inbox_add_side(&mmap, &in);
	add_process(&in, 3, RECORD_EXEC);
	inbox_sort(&in);

	assert_int_equal(in.items.nr, 4);
	assert_int_equal(in.items.at[0].time_ns, 3);
	assert_int_equal(in.items.at[1].kind, ITEM_PROCESS);
	assert_int_equal(in.items.at[2].kind, ITEM_SIDE);
	assert_string_equal(in.items.at[2].side.mapping.path, "/lib/x.so");
	assert_int_equal(in.items.at[3].time_ns, 7);
	inbox_fini(&in);
}

/* The ring of the samples was read before that of the node. */
static void an_exec_waits_for_samples_that_were_taken_before_it(void **state)
{
	struct process_record exec = { .kind = RECORD_EXEC, .time_ns = 12 };
	struct sample before = { .kind = RECORD_SAMPLE, .time_ns = 11 };
	struct side_event mmap = { .kind = SIDE_MMAP, .time_ns = 13, .mapping.path = "/lib/x.so" };
	struct inbox in = { 0 }, turn = { 0 };

	add_process(&in, 9, RECORD_FORK);
	inbox_add_record(&exec, sizeof(exec), &(struct inbox_feed){ &in, NULL });
	inbox_add_side(&mmap, &in);
	inbox_begin_turn(&in, 10, &turn);
	assert_int_equal(turn.items.nr, 1);
	assert_int_equal(turn.items.at[0].time_ns, 9);
	inbox_clear(&turn);

	memset(&exec, 0xff, sizeof(exec)); /* its ring has the bytes back */
	inbox_add_record(&before, sizeof(before), &(struct inbox_feed){ &in, recording });
	inbox_begin_turn(&in, 12, &turn);
	assert_int_equal(turn.items.nr, 3); /* also the items that waited, but not again */
	assert_int_equal(turn.items.at[0].time_ns, 11);
	assert_int_equal(((const struct process_record *)turn.items.at[1].record)->time_ns, 12);
	assert_string_equal(turn.items.at[2].side.mapping.path, "/lib/x.so");
	assert_int_equal(in.items.nr, 0);
	inbox_fini(&turn);
	inbox_fini(&in);
}

static void a_sample_is_taken_with_its_words(void **state)
{
	struct {
		struct sample head;
		u64 words[8];
	} record = { .head = { .kind = RECORD_SAMPLE, .nr_kernel = 1, .nr_user = 2 } };
	struct inbox in = { 0 };

	record.words[4] = 13;
	inbox_add_record(&record, sizeof(record), &(struct inbox_feed){ &in, recording });
	assert_int_equal(in.items.nr, 1);
	assert_int_equal(sample_words(in.items.at[0].record)[4], 13);
	inbox_fini(&in);
}

static void invalid_records_are_counted_and_dropped(void **state)
{
	struct sample head = { .kind = RECORD_SAMPLE, .nr_user = 1 };
	struct inbox in = { 0 };
	struct inbox_feed feed = { &in, recording };

	inbox_add_record(&head, sizeof(head), &feed); /* its words are missing */
	inbox_add_record(&head, 3, &feed);
	head.kind = 99;
	inbox_add_record(&head, sizeof(head), &feed);
	assert_int_equal(in.items.nr, 0);
	assert_int_equal(in.malformed, 3);
	inbox_fini(&in);
}

static void a_ring_holds_records_of_its_owner_only(void **state)
{
	const struct sample sample = { .kind = RECORD_SAMPLE };
	const struct process_record fork = { .kind = RECORD_FORK };
	struct inbox in = { 0 };

	inbox_add_record(&sample, sizeof(sample), &(struct inbox_feed){ &in, NULL });
	inbox_add_record(&fork, sizeof(fork), &(struct inbox_feed){ &in, recording });
	assert_int_equal(in.items.nr, 0);
	assert_int_equal(in.malformed, 2);
	inbox_fini(&in);
}

static void the_items_of_a_recording_can_be_dropped(void **state)
{
	const struct sample sample = { .kind = RECORD_SAMPLE };
	struct inbox in = { 0 }, turn = { 0 };

	inbox_add_record(&sample, sizeof(sample), &(struct inbox_feed){ &in, recording });
	inbox_add_record(&sample, sizeof(sample), &(struct inbox_feed){ &in, other });
	add_process(&in, 3, RECORD_EXEC);
	inbox_begin_turn(&in, 0, &turn); /* all are held, in memory of their own */
	inbox_drop(&in, recording);
	assert_int_equal(in.items.nr, 2);
	assert_ptr_equal(in.items.at[0].recording, other);
	assert_null(in.items.at[1].recording);
	inbox_fini(&turn);
	inbox_fini(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_sorted_by_time_then_by_arrival),
		cmocka_unit_test(an_exec_waits_for_samples_that_were_taken_before_it),
		cmocka_unit_test(a_sample_is_taken_with_its_words),
		cmocka_unit_test(invalid_records_are_counted_and_dropped),
		cmocka_unit_test(a_ring_holds_records_of_its_owner_only),
		cmocka_unit_test(the_items_of_a_recording_can_be_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
