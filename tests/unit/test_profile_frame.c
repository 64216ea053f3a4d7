/* SPDX-License-Identifier: Apache-2.0 */
/* Interned frames. */
#include <stdio.h>

#include "profile/frames/frame.h"
#include "test.h"

static frame_id add(struct frames *all, u32 i)
{
	char name[32];

	snprintf(name, sizeof(name), "function_%u", i);
	return frames_intern(all, FRAME_NATIVE, name, "module");
}

static void used_frames_keep_ids_and_names_in_a_sweep(void **state)
{
	struct frames *all = frames_new();
	bool is_used[1009] = { false };

	for (u32 i = 0; i < 1009; i++)
		assert_int_equal(add(all, i), i);
	for (u32 i = 0; i < 1009; i += 3)
		is_used[i] = true;
	frames_sweep(all, is_used);
	assert_int_equal(frames_nr_kept(all), 337);
	for (u32 i = 0; i < 1009; i += 3)
		assert_int_equal(add(all, i), i);
	assert_int_equal(frames_nr_kept(all), 337);
	frames_free(all);
}

static void freed_ids_name_other_frames(void **state)
{
	struct frames *all = frames_new();
	const bool is_used[3] = { true, false, true };

	for (u32 i = 0; i < 3; i++)
		add(all, i);
	frames_sweep(all, is_used);
	assert_int_equal(add(all, 5), 1);
	assert_string_equal(frames_get(all, 1)->name, "function_5");
	assert_int_equal(add(all, 1), 3);
	frames_free(all);
}

static void swept_frames_that_come_and_go_take_no_more_memory(void **state)
{
	struct frames *all = frames_new();
	const bool is_used[2003] = { false };
	size_t first = 0;

	for (u32 round = 0; round < 20; round++) {
		for (u32 i = 0; i < 1000; i++)
			add(all, 100000 + round * 1000 + i);
		first = first ?: frames_bytes(all);
		assert_int_equal(frames_bytes(all), first);
		frames_sweep(all, is_used);
		assert_int_equal(frames_nr(all), 0);
	}
	frames_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freed_ids_name_other_frames),
		cmocka_unit_test(swept_frames_that_come_and_go_take_no_more_memory),
		cmocka_unit_test(used_frames_keep_ids_and_names_in_a_sweep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
