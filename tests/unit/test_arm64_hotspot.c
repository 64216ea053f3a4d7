/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of HotSpot on arm64: compiled methods, stubs, the interpreter. Compiled for this machine.
 */
#include "hotspot_world.h"

#define FP        0x77
#define BL        0x94000010u
#define SUB_SP    0xd10083ffu /* sub sp, sp, #32 */
#define ADD_SP    0x910083ffu
#define STP       0xa9017bfdu /* stp x29, x30, [sp, #16] */
#define LDP       0xa9417bfdu
#define PUSH      0xa9bf7bfdu /* stp x29, x30, [sp, #-16]! */
#define POP       0xa8c17bfdu /* ldp x29, x30, [sp], #16 */
#define SUB_MORE  0xd12003ffu /* sub sp, sp, #2048 */
#define ADD_MORE  0x912003ffu
#define BANG      0xd1401be9u /* sub x9, sp, #6, lsl #12 */
#define BANG_2    0xf900013fu /* str xzr, [x9] */
#define MOV       0xaa0103e0u /* mov x0, x1 */
#define LDR_POLL  0xf941b388u /* ldr x8, [x28, #864] */
#define CMP_POLL  0xeb2863ffu /* cmp sp, x8 */
#define B_HI      0x540000c8u
#define ADR       0x10ffff48u /* adr x8 */
#define STR_PC    0xf901b788u /* str x8, [x28, #872] */
#define ADRP      0x90000008u
#define ADD_X8    0x91000108u
#define BR        0xd61f0100u
#define LDR_THROW 0xf9400788u /* ldr x8, [x28, #8] */
#define CBNZ      0xb5000048u

/* Where the caller is found. */
enum found {
	IN_LINK, /* x30, sp unchanged */
	MOVED,   /* x30, sp above the frame */
	AT_SP,   /* record at sp */
	BODY,    /* record at the frame's upper end */
};

/* Code around the pc of a leaf. A frame has 4 words. */
struct leaf {
	const char *what;
	u32 before[6], after[6]; /* the pc is at after[0]; before[] ends at the pc */
	enum found found;
};

static void set_leaf(u64 name, s32 complete, const struct leaf *l)
{
	u32 code[12];

	memcpy(code, l->before, sizeof(l->before));
	memcpy(code + 6, l->after, sizeof(l->after));
	set_blob(name, 4, complete, "", 0);
	put(CODE + 0x100 - sizeof(l->before), code, sizeof(code));
	put_value(CALLER - 4, u32, BL);
	scratch.walk.regs.fp = FP;
	scratch.walk.regs.lr = 0;
	switch (l->found) {
	case IN_LINK:
	case MOVED:
		scratch.walk.regs.lr = CALLER;
		break;
	case AT_SP:
		world.stack[0] = FP + 1;
		world.stack[1] = CALLER;
		break;
	case BODY:
		world.stack[2] = FP + 1;
		world.stack[3] = CALLER;
	}
}

static void steps_to_caller(const struct leaf *l)
{
	static const u32 words[] = { [IN_LINK] = 0, [MOVED] = 4, [AT_SP] = 2, [BODY] = 4 };
	int stop = unwind_step(&scratch);

	if (stop || scratch.walk.regs.pc != CALLER)
		print_message("%s: stop %d\n", l->what, stop);
	assert_int_equal(stop, 0);
	assert_int_equal(scratch.walk.regs.pc, CALLER);
	assert_int_equal(scratch.walk.regs.sp, STACK + 8 * words[l->found]);
	assert_int_equal(scratch.walk.regs.fp,
			 l->found == IN_LINK || l->found == MOVED ? FP : FP + 1);
}

static void leaves_in_a_prologue_are_found_by_the_code_before_them(void **state)
{
	static const struct leaf leaves[] = {
		{ "stack bang", { 0 }, { BANG, BANG_2, SUB_SP, STP }, IN_LINK },
		{ "sub sp", { [4] = BANG, BANG_2 }, { SUB_SP, STP }, IN_LINK },
		{ "stp", { [3] = BANG, BANG_2, SUB_SP }, { STP }, MOVED },
		{ "behind stp", { [3] = BANG, SUB_SP, STP }, { MOV }, BODY },
		{ "stp of a large frame", { [5] = BANG_2 }, { PUSH, SUB_MORE }, IN_LINK },
		{ "sub of a large frame", { [5] = PUSH }, { SUB_MORE }, AT_SP },
		{ "behind sub of a large frame", { [4] = PUSH, SUB_MORE }, { MOV }, BODY },
	};

	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		set_leaf(NAME_NMETHOD, 0x120, &leaves[i]);
		steps_to_caller(&leaves[i]);
	}
}

static void leaves_in_an_epilogue_are_found_by_the_code_around_them(void **state)
{
	static const struct leaf leaves[] = {
		{ "body", { [5] = MOV }, { MOV, MOV }, BODY },
		{ "ldp", { [5] = MOV }, { LDP, ADD_SP, RET }, BODY },
		{ "add sp", { [5] = LDP }, { ADD_SP, LDR_POLL, CMP_POLL, B_HI, RET }, MOVED },
		{ "poll", { [4] = LDP, ADD_SP }, { LDR_POLL, CMP_POLL, B_HI, RET }, IN_LINK },
		{ "cmp", { [3] = LDP, ADD_SP, LDR_POLL }, { CMP_POLL, B_HI, RET }, IN_LINK },
		{ "b.hi", { [2] = LDP, ADD_SP, LDR_POLL, CMP_POLL }, { B_HI, RET }, IN_LINK },
		{ "ret", { [1] = LDP, ADD_SP, LDR_POLL, CMP_POLL, B_HI }, { RET }, IN_LINK },
		{ "add of a large frame", { 0 }, { ADD_MORE, POP, RET }, BODY },
		{ "ldp of a large frame", { [5] = ADD_MORE }, { POP, RET }, AT_SP },
		{ "poll behind ldp", { [5] = POP }, { LDR_POLL, CMP_POLL, B_HI, RET }, IN_LINK },
		{ "poll in a loop", { [5] = MOV }, { LDR_POLL, CMP_POLL, B_HI, MOV }, BODY },
		{ "compare before ret", { [5] = MOV }, { CBNZ, MOV, RET }, BODY },
		{ "poll stub", { 0 }, { ADR, STR_PC, ADRP, ADD_X8, BR }, IN_LINK },
		{ "br of a poll stub", { [2] = ADR, STR_PC, ADRP, ADD_X8 }, { BR }, IN_LINK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		set_leaf(NAME_NMETHOD, 8, &leaves[i]);
		steps_to_caller(&leaves[i]);
	}
}

static void a_native_wrapper_checks_for_an_exception_behind_its_frame(void **state)
{
	static const struct leaf leaf = {
		"check", { [5] = POP }, { LDR_THROW, CBNZ, RET }, IN_LINK
	};

	set_leaf(NAME_NATIVE, 8, &leaf);
	steps_to_caller(&leaf);
}

static void a_caller_has_its_record_at_the_upper_end(void **state)
{
	static const struct leaf body = { "caller", { 0 }, { RET }, BODY };

	set_leaf(NAME_NMETHOD, 8, &body);
	scratch.walk.is_leaf = 0;
	steps_to_caller(&body);
}

static void an_x30_behind_no_call_ends_the_walk(void **state)
{
	static const struct leaf leaf = { "ret", { 0 }, { RET }, IN_LINK };

	set_leaf(NAME_NMETHOD, 8, &leaf);
	put_value(CALLER - 4, u32, MOV);
	assert_int_equal(unwind_step(&scratch), STAT_RETURN_ADDRESS);
}

static void a_routine_with_x30_in_its_record_has_a_frame(void **state)
{
	static const struct leaf leaf = { "routine", { 0 }, { MOV }, IN_LINK };

	set_leaf(1005, 8, &leaf);
	put_value(BLOB + FRAME_SIZE_OFF, s32, 0);
	scratch.walk.regs.fp = STACK + 64;
	world.stack[8] = FP;
	world.stack[9] = CALLER;
	assert_step(10, FP);
	assert_int_equal(scratch.walk.rule, RULE_FP_FRAME);

	set_leaf(1005, 8, &leaf); /* the record of its caller */
	put_value(BLOB + FRAME_SIZE_OFF, s32, 0);
	put_value(BLOB + END_OFF, u64, CODE + 0x200);
	scratch.walk.regs.fp = STACK + 64;
	world.stack[9] = CODE + 0x700;
	assert_step(0, STACK + 64);
	assert_int_equal(scratch.walk.rule, RULE_LINK);
}

/* A method at HEAP + 0x2000, its ConstMethod with 10 bytes of code at HEAP + 0x3000 + 56. */
static void set_interpreter(void)
{
	set_blob(NAME_NMETHOD, 6, 8, "", 0);
	put_value(CALLER - 4, u32, BL);
	world.jvm.bcp_slot = -9;
	world.jvm.interpreter_start = CODE + 0x100;
	world.jvm.interpreter_end = CODE + 0x200;
	world.jvm.const_method = 8;
	world.jvm.bytecode = 56;
	world.jvm.code_size = 32;
	put_value(HEAP + 0x2000 + 8, u64, HEAP + 0x3000);
	put_value(HEAP + 0x3000 + 32, u16, 10);
	scratch.walk.regs.fp = STACK + 160;
	world.stack[20] = FP;
	world.stack[21] = 0x2a5f000000000000ull | CALLER; /* signed */
	world.stack[19] = STACK + 200;
	world.stack[17] = HEAP + 0x2000;
	world.stack[11] = HEAP + 0x3038;
}

static void an_interpreted_frame_has_its_bytecode_in_x22_or_in_its_slot(void **state)
{
	set_interpreter();
	scratch.walk.regs.x22 = HEAP + 0x303b;
	assert_step(25, FP);
	assert_int_equal(scratch.words[0], HEAP + 0x2000);
	assert_int_equal(scratch.words[1] & USER_FRAME_BCP_MASK, HEAP + 0x303b);

	set_interpreter();
	scratch.walk.is_leaf = 0;
	assert_step(25, FP);
	assert_int_equal(scratch.words[1] & USER_FRAME_BCP_MASK, HEAP + 0x3038);
}

static void an_interpreted_leaf_that_does_not_run_ends_the_walk(void **state)
{
	set_interpreter();
	scratch.walk.regs.x22 = HEAP + 0x4000;
	assert_int_equal(unwind_step(&scratch), STAT_INTERPRETER_FRAME);

	set_interpreter();
	scratch.walk.regs.x22 = HEAP + 0x303b;
	world.stack[18] = STACK + 40; /* it is calling */
	assert_int_equal(unwind_step(&scratch), STAT_INTERPRETER_FRAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_in_a_prologue_are_found_by_the_code_before_them),
		cmocka_unit_test(leaves_in_an_epilogue_are_found_by_the_code_around_them),
		cmocka_unit_test(a_native_wrapper_checks_for_an_exception_behind_its_frame),
		cmocka_unit_test(a_caller_has_its_record_at_the_upper_end),
		cmocka_unit_test(an_x30_behind_no_call_ends_the_walk),
		cmocka_unit_test(a_routine_with_x30_in_its_record_has_a_frame),
		cmocka_unit_test(an_interpreted_frame_has_its_bytecode_in_x22_or_in_its_slot),
		cmocka_unit_test(an_interpreted_leaf_that_does_not_run_ends_the_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
