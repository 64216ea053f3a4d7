/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the unwinder's table that rows take. */
#include "test.h"

#include <errno.h>

#include "capture/unwind/packed.h"

static int pack(struct unwind_row *at, u32 nr, u32 most_pages)
{
	const struct rows rows = { .at = at, .nr = nr };
	auto_packed struct packed packed = { 0 };

	return packed_new(&rows, most_pages, &packed);
}

/* A file of some KB whose headers claim an image of 2 MB. */
static void sparse_rows_are_refused(void **state)
{
	struct unwind_row rows[] = { { 0, 1, ROW_SP, 0 }, { 0x1fffff, 0, ROW_NONE, 0 } };

	assert_int_equal(pack(rows, 2, 1023), -EFBIG);
	assert_int_equal(pack(rows, 2, 1024), 0);
}

static void as_many_rows_as_pages_are_accepted(void **state)
{
	struct unwind_row rows[100];

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = (struct unwind_row){ i * UNWIND_PAGE_BYTES, (u16)(i % 2), ROW_SP, 0 };
	assert_int_equal(pack(rows, ARRAY_SIZE(rows), 10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sparse_rows_are_refused),
		cmocka_unit_test(as_many_rows_as_pages_are_accepted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
