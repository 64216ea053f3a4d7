/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between the agent and HotSpot's tables. */
#include "sym/agree.h"
#include "test.h"

#define FRAME(class, name, at)                                  \
	{                                                       \
		.class_name = class, .method = name, .line = at \
	}

static const struct java_frame truth[] = { FRAME("A", "inlined", 3), FRAME("A", "called", 5),
					   FRAME("B", "compiled", 7) };

static bool agrees(const struct java_frame *other, int nr, bool is_leaf)
{
	bool one = frames_agree(truth, 3, other, nr, is_leaf);

	assert_int_equal(one, frames_agree(other, nr, truth, 3, is_leaf));
	return one;
}

static void the_same_names_and_lines_agree(void **state)
{
	assert_true(agrees(truth, 3, false));
	assert_true(agrees(truth, 3, true));
}

static void another_compiled_method_differs(void **state)
{
	const struct java_frame method = FRAME("B", "other", 0), class = FRAME("C", "compiled", 0);

	assert_false(agrees(&method, 1, false));
	assert_false(agrees(&method, 1, true));
	assert_false(agrees(&class, 1, true));
}

static void another_inlined_method_differs_except_at_a_leaf(void **state)
{
	const struct java_frame other[] = { FRAME("A", "other", 0), FRAME("B", "compiled", 7) };

	assert_false(agrees(other, 2, false));
	assert_true(agrees(other, 2, true));
}

static void different_lines_differ_if_both_are_known(void **state)
{
	const struct java_frame other[] = { FRAME("A", "called", 6), FRAME("B", "compiled", 7) };
	const struct java_frame none[] = { FRAME("A", "called", 0), FRAME("B", "compiled", 0) };

	assert_false(agrees(other, 2, false));
	assert_true(agrees(none, 2, false));
}

static void missing_inlined_frames_do_not_differ(void **state)
{
	assert_true(agrees(truth + 1, 2, false));
	assert_true(agrees(truth + 2, 1, false));
	assert_true(agrees(truth, 0, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_names_and_lines_agree),
		cmocka_unit_test(another_compiled_method_differs),
		cmocka_unit_test(another_inlined_method_differs_except_at_a_leaf),
		cmocka_unit_test(different_lines_differ_if_both_are_known),
		cmocka_unit_test(missing_inlined_frames_do_not_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
