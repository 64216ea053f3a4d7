/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "profile/selection.h"

static void add(struct profile *p, const char *service, u32 pid, const char *stack, u64 nr)
{
	const struct labels l = { .pid = pid, .tid = pid, .service = service, .stack = stack };
	node_id leaf = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", ""));

	profile_add(p, leaf, profile_intern_labels(p, &l), 0, nr);
}

/* 1,103 samples of a node, of which 13 are of the service. */
static struct profile *profile_of_node(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	add(p, "shop", 7, NULL, 5);
	add(p, "shop", 7, "cut_no_row", 3);
	add(p, "shop", 7, "frozen approximate", 2);
	add(p, "shop", 8, "approximate", 3);
	add(p, "other", 9, NULL, 1000);
	add(p, "other", 9, "cut_no_row", 90);
	profile_note(p, "samples", "samples taken", 1103);
	profile_note(p, "lost", "samples lost", 17);
	profile_note(p, "truncated", "user stacks that did not reach their root", 95);
	profile_note(p, "approximate", "samples with a frame ..", 5);
	profile_note(p, "cut_no_row", "user stacks cut: no row", 93);
	profile_note(p, "cut_loop", "user stacks cut: a loop", 11);
	profile_note(p, NOTE_INCOMPLETE "7-99", "stacks of a-7 lack callers", 5);
	profile_note(p, NOTE_INCOMPLETE "9-99", "stacks of b-9 lack callers", 90);
	profile_note(p, NOTE_INCOMPLETE "0-99", "stacks of all processes lack callers", 95);
	profile_note(p, NOTE_INCOMPLETE "slices", "damaged files", 1);
	return p;
}

static bool is_of(const struct labels *l, const void *service)
{
	return !strcmp(l->service, service);
}

static void assert_note(const struct profile *p, const char *key, u64 value)
{
	const struct note *n = profile_find_note(p, key);

	assert_non_null(n);
	assert_int_equal(n->value, value);
}

static void counts_are_those_of_the_selection(void **state)
{
	auto_profile struct profile *p = profile_of_node();

	profile_select(p, is_of, "shop");
	assert_int_equal(profile_total(p, 0), 13);
	assert_note(p, "samples", 13);
	assert_note(p, "truncated", 5);
	assert_note(p, "approximate", 5);
	assert_note(p, "cut_no_row", 3);
	assert_null(profile_find_note(p, "cut_loop"));
	assert_null(profile_find_note(p, "lost"));
}

static void counts_of_the_node_are_named(void **state)
{
	auto_profile struct profile *p = profile_of_node();

	profile_select(p, is_of, "shop");
	assert_note(p, "node_samples", 1103);
	assert_note(p, "node_lost", 17);
	assert_note(p, "node_truncated", 95);
	assert_string_equal(profile_find_note(p, "node_lost")->text,
			    "samples lost (on the whole node)");
}

static void only_selected_processes_lack_callers(void **state)
{
	auto_profile struct profile *p = profile_of_node();

	profile_select(p, is_of, "shop");
	assert_note(p, NOTE_INCOMPLETE "7-99", 5);
	assert_null(profile_find_note(p, NOTE_INCOMPLETE "9-99"));
	assert_null(profile_find_note(p, NOTE_INCOMPLETE "0-99"));
	assert_note(p, NOTE_INCOMPLETE "slices", 1);
}

static void a_second_selection_keeps_the_counts_of_the_node(void **state)
{
	auto_profile struct profile *p = profile_of_node();

	profile_select(p, is_of, "shop");
	profile_select(p, is_of, "shop");
	assert_note(p, "samples", 13);
	assert_note(p, "node_samples", 1103);
	assert_null(profile_find_note(p, "node_node_samples"));
}

/* Of a writer that did not know the label. */
static void cut_stacks_without_their_label_are_not_guessed(void **state)
{
	auto_profile struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	add(p, "shop", 7, NULL, 13);
	add(p, "other", 9, NULL, 90);
	profile_note(p, "samples", "samples taken", 103);
	profile_note(p, "truncated", "user stacks that did not reach their root", 3);
	profile_select(p, is_of, "shop");
	assert_note(p, "samples", 13);
	assert_null(profile_find_note(p, "truncated"));
	assert_note(p, "node_truncated", 3);
}

static void a_profile_without_notes_gets_none(void **state)
{
	auto_profile struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	add(p, "shop", 7, NULL, 13);
	profile_select(p, is_of, "shop");
	assert_int_equal(p->notes.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_those_of_the_selection),
		cmocka_unit_test(counts_of_the_node_are_named),
		cmocka_unit_test(only_selected_processes_lack_callers),
		cmocka_unit_test(a_second_selection_keeps_the_counts_of_the_node),
		cmocka_unit_test(cut_stacks_without_their_label_are_not_guessed),
		cmocka_unit_test(a_profile_without_notes_gets_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
