/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one function's instructions, assembled by hand, and checks the rows. */
#include "cfi_bytes.h"

#define END                                           \
	{                                             \
		TEST_START + TEST_LEN, 0, ROW_NONE, 0 \
	}

/* Compiles one function with put_cie's CIE. The caller releases the rows. */
static struct rows run(const u8 *insns, size_t nr)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };

	put_fde(&b, put_cie(&b), TEST_START, TEST_LEN, insns, nr);
	assert_int_equal(compile_bytes(&b, &rows), 0);
	return rows;
}

/* The same with other CIE bytes, which begin with the version. */
static struct rows run_with(const u8 *cie, size_t nr_cie, const u8 *insns, size_t nr)
{
	struct cfi_bytes b = { .nr = 0 };
	struct rows rows = { 0 };

	put_fde(&b, put_entry(&b, 0, cie, nr_cie), TEST_START, TEST_LEN, insns, nr);
	assert_int_equal(compile_bytes(&b, &rows), 0);
	return rows;
}

static void a_function_without_instructions_has_its_cies_rule(void **state)
{
	struct rows rows = run(BYTES(0, 0, 0));
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, END);
}

static void every_form_of_advance_moves_the_location(void **state)
{
	struct rows rows = run(BYTES(0x40 | 1, 0x0e, 16,                    /* advance_loc */
				     0x02, 2, 0x0e, 24,                     /* 1 byte */
				     0x03, 4, 0, 0x0e, 32,                  /* 2 bytes */
				     0x04, 8, 0, 0, 0, 0x0e, 40,            /* 4 bytes */
				     0x01, 0x20, 0x10, 0x40, 0, 0x0e, 48)); /* set_loc */
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1001, 2, ROW_SP, 0 },
		    { 0x1003, 3, ROW_SP, 0 }, { 0x1007, 4, ROW_SP, 0 }, { 0x100f, 5, ROW_SP, 0 },
		    { 0x1020, 6, ROW_SP, 0 }, END);
}

static void an_advance_counts_in_units_of_code_alignment(void **state)
{
	struct rows rows =
		run_with(BYTES(1, 'z', 'R', 0, 4, 0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1),
			 BYTES(0x41, 0x0e, 16));
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1004, 2, ROW_SP, 0 }, END);
}

static void an_advance_past_the_end_ends_the_function(void **state)
{
	struct rows rows = run(BYTES(0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16, 0x41, 0x0e, 24));
	assert_int_equal(rows.nr_malformed, 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, END);
}

static void a_step_back_is_ignored(void **state)
{
	struct rows rows = run(BYTES(0x48, 0x01, 0x00, 0x10, 0x40, 0, 0x0e, 16));
	assert_int_equal(rows.nr_malformed, 1);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1008, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void every_form_of_def_cfa_sets_the_cfa(void **state)
{
	struct rows rows = run(BYTES(0x0c, 7, 0x90, 1,                  /* def_cfa 144 */
				     0x41, 0x0d, 6,                     /* register */
				     0x41, 0x0e, 24,                    /* offset */
				     0x41, 0x12, 7, 0x7e,               /* def_cfa_sf -2 * -8 */
				     0x41, 0x13, 0x7b,                  /* offset_sf -5 * -8 */
				     0x41, 0x0c, 6, 0xf8, 0xff, 0x1f)); /* the largest */
	EXPECT_ROWS(&rows, { 0x1000, 18, ROW_SP, 0 }, { 0x1001, 18, ROW_FP, 0 },
		    { 0x1002, 3, ROW_FP, 0 }, { 0x1003, 2, ROW_SP, 0 }, { 0x1004, 5, ROW_SP, 0 },
		    { 0x1005, 65535, ROW_FP, 0 }, END);
}

static void a_cfa_that_a_row_cannot_hold_is_unsupported(void **state)
{
	struct rows rows = run(BYTES(0x0c, 7, 12,                     /* not a multiple of 8 */
				     0x41, 0x0c, 7, 0x80, 0x80, 0x20, /* 524,288 */
				     0x41, 0x12, 7, 1,                /* -8 */
				     0x41, 0x0c, 9, 8,                /* r9 */
				     0x41, 0x0c, 7, 8));
	assert_int_equal(rows.nr_unsupported, 1);
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, { 0x1004, 1, ROW_SP, 0 }, END);
}

static void every_form_of_offset_saves_the_frame_pointer(void **state)
{
	struct rows rows = run(BYTES(0x86, 2,               /* offset */
				     0x41, 0x05, 6, 3,      /* extended */
				     0x41, 0x11, 6, 4,      /* extended_sf */
				     0x41, 0x86, 0x80, 1)); /* the farthest, -1024 */
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, -2 }, { 0x1001, 1, ROW_SP, -3 },
		    { 0x1002, 1, ROW_SP, -4 }, { 0x1003, 1, ROW_SP, -128 }, END);
}

static void a_cfa_on_another_register_names_it(void **state)
{
	struct rows rows = run(BYTES(0x0c, 3, 32,                   /* rbx, as in ld.so */
				     0x41, 0x0c, 15, 0xf8, 0xff, 1, /* the farthest of r15 */
				     0x41, 0x0c, 3, 0x80, 0x80, 2,  /* too far */
				     0x41, 0x12, 3, 1,              /* negative */
				     0x41, 0x0c, 3, 33));           /* not a multiple of 8 */
	EXPECT_ROWS(&rows, { 0x1000, 3 << ROW_REGISTER_SHIFT | 4, ROW_REGISTER, 0 },
		    { 0x1001, 0xffff, ROW_REGISTER, 0 }, { 0x1002, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void a_negative_offset_inverts_the_direction(void **state)
{
	struct rows rows =
		run_with(BYTES(1, 'z', 'R', 0, 1, 8, 16, 1, 0x03, 0x0c, 7, 8, 0x11, 16, 0x7f),
			 BYTES(0x2f, 6, 2));
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, -2 }, END);
}

static void a_save_location_that_a_row_cannot_hold_is_unsupported(void **state)
{
	struct rows rows = run(BYTES(0x11, 6, 0x7f,             /* above the CFA */
				     0x41, 0x86, 0x81, 1,       /* -1032 */
				     0x41, 0x86, 0,             /* at the CFA */
				     0x41, 0x09, 6, 3,          /* in rbx */
				     0x41, 0x14, 6, 2,          /* val_offset */
				     0x41, 0x15, 6, 2,          /* val_offset_sf */
				     0x41, 0x16, 6, 1, 0x30,    /* val_expression */
				     0x41, 0x10, 6, 2, 0x77, 0, /* expression: *rsp */
				     0x41, 0x07, 6,             /* undefined */
				     0x41, 0x08, 6));           /* same_value */
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, { 0x1009, 1, ROW_SP, 0 }, END);
}

static void a_restored_register_has_the_cies_rule_again(void **state)
{
	struct rows rows = run(BYTES(0x86, 2, 0x41, 0xc6, 0x41, 0x86, 2, 0x41, 0x06, 6));
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, -2 }, { 0x1001, 1, ROW_SP, 0 },
		    { 0x1002, 1, ROW_SP, -2 }, { 0x1003, 1, ROW_SP, 0 }, END);
}

static void rules_for_other_registers_add_no_rows(void **state)
{
	struct rows rows = run(BYTES(0x83, 2, 0x41, 0x8c, 3, 0x41, 0xc3, 0x41, 0x07, 1, 0x41, 0x10,
				     3, 2, 0x77, 0, 0x41, 0x2e, 0x20));
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, END);
}

static void a_remembered_state_is_restored_with_its_cfa(void **state)
{
	struct rows rows = run(BYTES(0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0c, 7, 8, 0xc6, 0x41, 0x0b));
	EXPECT_ROWS(&rows, { 0x1000, 2, ROW_SP, -2 }, { 0x1001, 1, ROW_SP, 0 },
		    { 0x1002, 2, ROW_SP, -2 }, END);
}

static void up_to_16_states_are_remembered(void **state)
{
	u8 insns[48] = { 0 };

	memset(insns, 0x0a, 16);
	memset(insns + 16, 0x0b, 16);
	struct rows rows = run(insns, sizeof(insns));
	assert_int_equal(rows.nr_malformed, 0);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, END);

	insns[16] = 0x0a;
	rows = run(insns, sizeof(insns));
	assert_int_equal(rows.nr_malformed, 1);
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void a_state_that_was_never_remembered_ends_the_function(void **state)
{
	struct rows rows = run(BYTES(0x44, 0x0b, 0x44, 0x0e, 16));
	assert_int_equal(rows.nr_malformed, 1);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1004, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void an_undefined_return_address_is_the_outermost_frame(void **state)
{
	struct rows rows = run(BYTES(0x44, 0x07, 16, 0x44, 0x0e, 16));
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1004, 0, ROW_END, 0 }, END);
}

static void a_return_address_elsewhere_is_unsupported(void **state)
{
	struct rows rows = run(BYTES(0x09, 16, 8,    /* in r8, which a leaf lacks, too */
				     0x44, 0x90, 2,  /* at CFA - 16 */
				     0x44, 0x08, 16, /* same_value */
				     0x44, 0xd0));
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, { 0x100c, 1, ROW_SP, 0 }, END);
}

static void a_rule_for_the_stack_pointer_is_unsupported(void **state)
{
	struct rows rows = run(BYTES(0x87, 3));
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void the_plt_expression_is_recognised(void **state)
{
	struct rows rows =
		run(BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_PLT, 0 }, END);
}

static void a_realigned_stack_has_its_cfa_relative_to_the_frame_pointer(void **state)
{
	struct rows rows = run(BYTES(0x0f, 3, 0x76, 0x78, 0x06,   /* *(rbp - 8) */
				     0x41, 0x10, 6, 2, 0x76, 0)); /* rbp at *rbp */
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, { 0x1001, (u16)-1, ROW_FP_DEREF, 0 },
		    END);
}

static void a_cfa_kept_on_the_stack_is_read_from_there(void **state)
{
	struct rows rows = run(BYTES(0x0f, 6, 0x77, 0xd8, 0x00, 0x06, 0x23, 8, 0x86, 2));
	EXPECT_ROWS(&rows, { 0x1000, 11, ROW_SP_DEREF, -2 }, END);
}

static void other_expressions_are_unsupported(void **state)
{
	struct rows rows = run(BYTES(0x0f, 2, 0x77, 8, 0x41, 0x0f, 0, 0x41, 0x0f, 5, 0x77, 8, 0x06,
				     0x23, 16, 0x41, 0x0f, 4, 0x76, 8, 0x06, 0x06));
	assert_int_equal(rows.nr_malformed, 0);
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, END);
}

/* The end of those libgcrypt functions that align their stack. */
static void a_register_after_an_expression_restores_the_earlier_offset(void **state)
{
	struct rows rows = run(BYTES(0x0e, 56,                                       /* offset */
				     0x44, 0x0f, 6, 0x77, 0xd8, 0x00, 0x06, 0x23, 8, /* deref */
				     0x44, 0x0d, 7,                                  /* register */
				     0x44, 0x0f, 2, 0x77, 8,                         /* other */
				     0x44, 0x0e, 24,                                 /* offset */
				     0x44, 0x0d, 6));                                /* register */
	assert_int_equal(rows.nr_malformed, 0);
	EXPECT_ROWS(&rows, { 0x1000, 7, ROW_SP, 0 }, { 0x1004, 11, ROW_SP_DEREF, 0 },
		    { 0x1008, 7, ROW_SP, 0 }, { 0x100c, 0, ROW_UNSUPPORTED, 0 },
		    { 0x1014, 3, ROW_FP, 0 }, END);
}

static void a_signal_frame_is_recognised_by_its_letter_and_layout(void **state)
{
	static const u8 cie[] = { 1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x03 };

	struct rows rows = run_with(cie, sizeof(cie), BYTES(0x0f, 4, 0x77, 0xa0, 1, 0x06));
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_SIGNAL, 0 }, END);
	rows = run_with(cie, sizeof(cie), BYTES(0x0f, 4, 0x77, 0xa8, 1, 0x06));
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void an_unknown_instruction_ends_the_function_and_is_counted(void **state)
{
	struct rows rows = run(BYTES(0x44, 0x3f, 0x44, 0x0e, 16));
	assert_int_equal(rows.nr_unknown_ops, 1);
	EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1004, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void a_truncated_instruction_ends_the_function(void **state)
{
	static const u8 whole[] = { 0x44, 0x0f, 4, 0x77, 0xa0, 1, 0x06 };

	for (size_t len = 2; len < sizeof(whole); len++) {
		struct rows rows = run(whole, len);
		assert_int_equal(rows.nr_malformed, 1);
		EXPECT_ROWS(&rows, { 0x1000, 1, ROW_SP, 0 }, { 0x1004, 0, ROW_UNSUPPORTED, 0 },
			    END);
	}
}

static void a_cie_that_cannot_be_run_makes_its_functions_unsupported(void **state)
{
	struct rows rows =
		run_with(BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1, 0x41),
			 BYTES(0x0c, 7, 8));
	assert_int_equal(rows.nr_malformed, 1);
	EXPECT_ROWS(&rows, { 0x1000, 0, ROW_UNSUPPORTED, 0 }, END);
}

static void numbers_longer_than_64_bits_are_read_to_their_end(void **state)
{
	struct rows rows = run(BYTES(0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				     0x80, 0x80, 0x80, 0, 0x41, 0x12, 7, 0x7e));
	EXPECT_ROWS(&rows, { 0x1000, 2, ROW_SP, 0 }, END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_without_instructions_has_its_cies_rule),
		cmocka_unit_test(every_form_of_advance_moves_the_location),
		cmocka_unit_test(an_advance_counts_in_units_of_code_alignment),
		cmocka_unit_test(an_advance_past_the_end_ends_the_function),
		cmocka_unit_test(a_step_back_is_ignored),
		cmocka_unit_test(every_form_of_def_cfa_sets_the_cfa),
		cmocka_unit_test(a_cfa_that_a_row_cannot_hold_is_unsupported),
		cmocka_unit_test(every_form_of_offset_saves_the_frame_pointer),
		cmocka_unit_test(a_cfa_on_another_register_names_it),
		cmocka_unit_test(a_negative_offset_inverts_the_direction),
		cmocka_unit_test(a_save_location_that_a_row_cannot_hold_is_unsupported),
		cmocka_unit_test(a_restored_register_has_the_cies_rule_again),
		cmocka_unit_test(rules_for_other_registers_add_no_rows),
		cmocka_unit_test(a_remembered_state_is_restored_with_its_cfa),
		cmocka_unit_test(up_to_16_states_are_remembered),
		cmocka_unit_test(a_state_that_was_never_remembered_ends_the_function),
		cmocka_unit_test(an_undefined_return_address_is_the_outermost_frame),
		cmocka_unit_test(a_return_address_elsewhere_is_unsupported),
		cmocka_unit_test(a_rule_for_the_stack_pointer_is_unsupported),
		cmocka_unit_test(the_plt_expression_is_recognised),
		cmocka_unit_test(a_realigned_stack_has_its_cfa_relative_to_the_frame_pointer),
		cmocka_unit_test(a_cfa_kept_on_the_stack_is_read_from_there),
		cmocka_unit_test(other_expressions_are_unsupported),
		cmocka_unit_test(a_register_after_an_expression_restores_the_earlier_offset),
		cmocka_unit_test(a_signal_frame_is_recognised_by_its_letter_and_layout),
		cmocka_unit_test(an_unknown_instruction_ends_the_function_and_is_counted),
		cmocka_unit_test(a_truncated_instruction_ends_the_function),
		cmocka_unit_test(a_cie_that_cannot_be_run_makes_its_functions_unsupported),
		cmocka_unit_test(numbers_longer_than_64_bits_are_read_to_their_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
