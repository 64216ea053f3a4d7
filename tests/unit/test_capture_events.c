/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "capture/events.h"
#include "capture/schedtext.h"

static const struct event_options options = { .freq_hz = 99, .offcpu_min_ns = 1000000 };

static int parse(const char *text, struct events *out, char *why, size_t size)
{
	struct str said = { 0 };
	int err = events_parse(text, &options, out, &said);

	copy_text(why, size, said.len ? said.at : "");
	str_fini(&said);
	return err;
}

static void a_list_keeps_its_order_and_its_names(void **state)
{
	struct events all = { 0 };
	char why[256];

	assert_int_equal(parse("page-faults,cpu,cs", &all, why, sizeof(why)), 0);
	assert_int_equal(all.list.nr, 3);
	assert_string_equal(all.list.at[0].name, "page-faults");
	assert_string_equal(all.list.at[0].unit, "faults");
	assert_string_equal(all.list.at[1].name, "cpu");
	assert_string_equal(all.list.at[1].unit, "samples");
	assert_string_equal(all.list.at[2].unit, "switches");
	events_fini(&all);
}

static void what_is_wrong_is_said_with_the_words_that_were_given(void **state)
{
	const struct {
		const char *text, *why;
	} wrong[] = {
		{ "", "name is missing" },
		{ "cpu,,cs", "name is missing" },
		{ "cpu,cs,cpu", "cpu stands there twice" },
		{ "cpuu", "-e cpuu: there is no such event" },
		{ "rxyz", "-e rxyz: there is no such event" },
		{ "LLC-loadz", "-e LLC-loadz: there is no such event" },
		{ "a:b:c", "no such event" },
		{ "../x:y", "no such event" },
		{ "uprobe:", "takes uprobe:PATH" },
		{ "uprobe::x", "takes uprobe:PATH" },
		{ "uprobe:/proc/self/exe:", "takes SYMBOL" },
		{ "uprobe:/proc/self/exe:+3", "takes SYMBOL" },
		{ "uprobe:/proc/self/exe:0x12zz", "takes SYMBOL" },
		{ "uprobe:/dev/null:x", "uprobe:/dev/null: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct events all = { 0 };
		char why[256];
		assert_true(parse(wrong[i].text, &all, why, sizeof(why)) < 0);
		if (!strstr(why, wrong[i].why))
			fail_msg("'%s': %s", wrong[i].text, why);
		events_fini(&all);
	}
}

static void a_place_in_a_file_is_found_by_symbol_and_offset(void **state)
{
	struct events all = { 0 };
	char why[256];

	assert_int_equal(parse("uprobe:/proc/self/exe:main,uprobe:/proc/self/exe:main+0x10,"
			       "uprobe:/proc/self/exe:0x1234",
			       &all, why, sizeof(why)),
			 0);
	assert_int_equal(all.list.at[1].file_off, all.list.at[0].file_off + 0x10);
	assert_int_equal(all.list.at[2].file_off, 0x1234);
	assert_string_equal(all.list.at[0].what, "main");
	events_fini(&all);
}

static void the_schedulers_frames_and_those_before_are_left_out(void **state)
{
	const struct sched_text t = { 100, 200 };
	const u64 traced[] = { 7, 8, 150, 199, 200, 120 }, plain[] = { 300, 301 };

	assert_int_equal(sched_text_frames(&t, traced, ARRAY_SIZE(traced)), 4);
	assert_int_equal(sched_text_frames(&t, plain, ARRAY_SIZE(plain)), 0);
	assert_int_equal(sched_text_frames(&(struct sched_text){ 0 }, traced, 6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_keeps_its_order_and_its_names),
		cmocka_unit_test(what_is_wrong_is_said_with_the_words_that_were_given),
		cmocka_unit_test(a_place_in_a_file_is_found_by_symbol_and_offset),
		cmocka_unit_test(the_schedulers_frames_and_those_before_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
