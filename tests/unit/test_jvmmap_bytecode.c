/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytecode jumps back. */
#include "test.h"

#include "jvmmap/bytecode.c"

#define HAS_LOOP(...)                                       \
	bytecode_has_loop((const uint8_t[]){ __VA_ARGS__ }, \
			  sizeof((const uint8_t[]){ __VA_ARGS__ }))

enum {
	ILOAD_1 = 0x1b,
	IFLE = 0x9e,
	GOTO = 0xa7,
	TABLESWITCH = 0xaa,
	LOOKUPSWITCH = 0xab,
	RETURN = 0xb1,
	INVOKEINTERFACE = 0xb9,
	WIDE = 0xc4,
	GOTO_W = 0xc8,
};

static void code_without_jumps_has_no_loop(void **state)
{
	assert_false(HAS_LOOP(RETURN));
	assert_false(HAS_LOOP(INVOKEINTERFACE, 0xa7, 0xff, 1, 0, RETURN));
	assert_false(HAS_LOOP(WIDE, 0x84, 0, 1, 0xff, 0xff, RETURN));
	assert_false(HAS_LOOP(WIDE, 0x15, 0xa7, 0xff, RETURN));
}

static void a_jump_forward_is_no_loop(void **state)
{
	assert_false(HAS_LOOP(ILOAD_1, IFLE, 0, 4, RETURN, RETURN));
	assert_false(HAS_LOOP(GOTO_W, 0, 0, 0, 5, RETURN));
}

static void a_jump_back_is_a_loop(void **state)
{
	assert_true(HAS_LOOP(ILOAD_1, GOTO, 0xff, 0xff));
	assert_true(HAS_LOOP(ILOAD_1, IFLE, 0xff, 0xff, RETURN));
	assert_true(HAS_LOOP(ILOAD_1, GOTO_W, 0xff, 0xff, 0xff, 0xff));
}

/* The numbers of a switch begin at a multiple of 4. */
static void the_targets_of_a_switch_count(void **state)
{
	assert_false(HAS_LOOP(TABLESWITCH, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0,
			      20, RETURN));
	assert_true(HAS_LOOP(ILOAD_1, TABLESWITCH, 0, 0, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 7, 0xff,
			     0xff, 0xff, 0xff, RETURN));
	assert_false(HAS_LOOP(ILOAD_1, LOOKUPSWITCH, 0, 0, 0, 0, 0, 19, 0, 0, 0, 1, 0xff, 0, 0, 0,
			      0, 0, 0, 19, RETURN));
	assert_true(HAS_LOOP(ILOAD_1, LOOKUPSWITCH, 0, 0, 0, 0, 0, 19, 0, 0, 0, 1, 0xff, 0, 0, 0,
			     0xff, 0xff, 0xff, 0xff, RETURN));
	assert_true(
		HAS_LOOP(ILOAD_1, LOOKUPSWITCH, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, RETURN));
}

/* A class that may have a loop is better left alone. */
static void code_that_is_cut_or_unknown_may_have_a_loop(void **state)
{
	assert_true(HAS_LOOP(0xca));
	assert_true(HAS_LOOP(WIDE));
	assert_true(HAS_LOOP(ILOAD_1, GOTO));
	assert_true(HAS_LOOP(TABLESWITCH, 0, 0));
	assert_true(
		HAS_LOOP(TABLESWITCH, 0, 0, 0, 0, 0, 0, 20, 0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_without_jumps_has_no_loop),
		cmocka_unit_test(a_jump_forward_is_no_loop),
		cmocka_unit_test(a_jump_back_is_a_loop),
		cmocka_unit_test(the_targets_of_a_switch_count),
		cmocka_unit_test(code_that_is_cut_or_unknown_may_have_a_loop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
