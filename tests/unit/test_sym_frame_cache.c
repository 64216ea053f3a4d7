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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_stay_until_the_mappings_change),
		cmocka_unit_test(a_forgotten_process_begins_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
