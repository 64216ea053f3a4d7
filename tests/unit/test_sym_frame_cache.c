/* SPDX-License-Identifier: Apache-2.0 */
/* Frames by process and pc. */
#include "sym/frame_cache.h"
#include "test.h"

static void frames_stay_until_the_mappings_change(void **state)
{
	struct frame_cache cache = { 0 };
	struct process p = { .id = { 7, PROC_TICK_NS } }, other = { .id = { 8, PROC_TICK_NS } };

	*frame_cache_place(&cache, &p, 0x1234) = 5;
	assert_int_equal(*frame_cache_place(&cache, &other, 0x1234), 0);
	assert_int_equal(*frame_cache_place(&cache, &p, 0x1234), 5);
	p.mappings_version++;
	assert_int_equal(*frame_cache_place(&cache, &p, 0x1234), 0);
	frame_cache_fini(&cache);
}

static void a_forgotten_process_begins_anew(void **state)
{
	struct frame_cache cache = { 0 };
	struct process p = { .id = { 7, PROC_TICK_NS } };

	*frame_cache_place(&cache, &p, 0x1234) = 5;
	frame_cache_forget(&cache, p.id);
	frame_cache_forget(&cache, p.id);
	assert_int_equal(*frame_cache_place(&cache, &p, 0x1234), 0);
	frame_cache_fini(&cache);
}

static void pcs_that_are_not_sampled_again_are_dropped(void **state)
{
	struct frame_cache cache = { 0 };
	struct process p = { .id = { 7, PROC_TICK_NS } }, idle = { .id = { 8, PROC_TICK_NS } };

	*frame_cache_place(&cache, &p, 0x1234) = 5;
	*frame_cache_place(&cache, &idle, 0x1234) = 6;
	for (int i = 0; i < 3; i++) {
		frame_cache_turn(&cache);
		assert_int_equal(*frame_cache_place(&cache, &p, 0x1234), 5);
	}
	assert_int_equal(frame_cache_nr(&cache), 1);
	frame_cache_fini(&cache);
}

static void many_pcs_stay_in_the_budget(void **state)
{
	struct frame_cache cache = { 0 };
	struct process p = { .id = { 7, PROC_TICK_NS } };

	for (u64 pc = 1; pc <= 1000003; pc++)
		*frame_cache_place(&cache, &p, pc) = pc;
	assert_in_range(frame_cache_bytes(&cache), 1, FRAME_CACHE_BYTES);
	assert_int_equal(*frame_cache_place(&cache, &p, 1000003), 1000003);
	frame_cache_fini(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_stay_until_the_mappings_change),
		cmocka_unit_test(a_forgotten_process_begins_anew),
		cmocka_unit_test(many_pcs_stay_in_the_budget),
		cmocka_unit_test(pcs_that_are_not_sampled_again_are_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
