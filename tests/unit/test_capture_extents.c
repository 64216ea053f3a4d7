/* SPDX-License-Identifier: Apache-2.0 */
/* Extents of a table that is read at the same time. */
#include "capture/unwind/extents.h"
#include "test.h"

#include <errno.h>

static void a_freed_extent_rests_before_it_is_used_again(void **state)
{
	struct extents e;
	u32 first = 7;

	extents_init(&e, 10);
	assert_int_equal(extents_alloc(&e, 10, 1000, &first), 0);
	assert_int_equal(first, 0);
	extents_free(&e, 0, 10, 1000);
	assert_int_equal(extents_alloc(&e, 1, 1000 + EXTENTS_REST_NS - 1, &first), -ENOSPC);
	assert_int_equal(extents_alloc(&e, 1, 1000 + EXTENTS_REST_NS, &first), 0);
	extents_fini(&e);
}

static void adjacent_extents_are_joined(void **state)
{
	struct extents e;
	u32 a, b, c;

	extents_init(&e, 12);
	assert_int_equal(extents_alloc(&e, 4, 0, &a), 0);
	assert_int_equal(extents_alloc(&e, 4, 0, &b), 0);
	assert_int_equal(extents_alloc(&e, 4, 0, &c), 0);
	extents_free(&e, b, 4, 1);
	extents_free(&e, a, 4, 1);
	assert_int_equal(extents_alloc(&e, 8, 2 * EXTENTS_REST_NS, &a), 0);
	assert_int_equal(e.nr_used, 12);
	extents_fini(&e);
}

/* Random requests in random order: no part is allocated twice. */
static void extents_never_overlap(void **state)
{
	struct {
		u32 first, nr;
	} held[64] = { 0 };
	u8 taken[1000] = { 0 };
	struct extents e;
	u32 seed = 4711;

	extents_init(&e, 1000);
	for (u64 now = 0; now < 20000; now++) {
		u32 i = (seed = seed * 1103515245 + 12345) >> 16 & 63, nr = seed >> 8 & 31;

		for (u32 k = 0; k < held[i].nr; k++)
			taken[held[i].first + k] = 0;
		extents_free(&e, held[i].first, held[i].nr, now * EXTENTS_REST_NS / 4);
		held[i].nr = 0;
		if (extents_alloc(&e, nr, now * EXTENTS_REST_NS / 4, &held[i].first))
			continue;
		held[i].nr = nr;
		for (u32 k = 0; k < nr; k++) {
			assert_int_equal(taken[held[i].first + k], 0);
			taken[held[i].first + k] = 1;
		}
	}
	extents_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_freed_extent_rests_before_it_is_used_again),
		cmocka_unit_test(adjacent_extents_are_joined),
		cmocka_unit_test(extents_never_overlap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
