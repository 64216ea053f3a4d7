/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the template interpreter, and the code that builds and leaves them. */
#include "hotspot_world.h"

/* A method at HEAP + 0x2000, its ConstMethod with 10 bytes of code at HEAP + 0x3000 + 56. */
static void set_interpreter(void)
{
	set_code(NAME_NMETHOD, 6, 8, "\x90");
	world.jvm.interpreter_start = CODE + 0x100;
	world.jvm.interpreter_end = CODE + 0x200;
	world.jvm.const_method = 8;
	world.jvm.bytecode = 56;
	world.jvm.code_size = 32;
	put_value(HEAP + 0x2000 + 8, u64, HEAP + 0x3000);
	put_value(HEAP + 0x3000 + 32, u16, 10);
	scratch.walk.regs.fp = STACK + 160;
	world.stack[20] = 0x77; /* saved fp */
	world.stack[21] = CALLER;
	world.stack[19] = STACK + 200; /* sender sp */
	world.stack[17] = HEAP + 0x2000;
	world.stack[12] = HEAP + 0x3038;
}

static void an_interpreter_frame_gives_method_and_bytecode(void **state)
{
	set_interpreter();
	scratch.walk.regs.r13 = HEAP + 0x303b;
	assert_step(25, 0x77);
	assert_int_equal(scratch.words[0], HEAP + 0x2000);
	assert_int_equal(scratch.words[1] & USER_FRAME_BCP_MASK, HEAP + 0x303b);
}

static void a_calling_interpreter_frame_has_saved_its_bytecode_pointer(void **state)
{
	set_interpreter();
	scratch.walk.is_leaf = 0;
	assert_step(25, 0x77);
	assert_int_equal(scratch.words[1] & USER_FRAME_BCP_MASK, HEAP + 0x3038);
}

static void a_method_entry_without_frame_is_unwound_by_its_return_address(void **state)
{
	set_interpreter();
	scratch.walk.regs.r13 = STACK + 24;
	scratch.walk.regs.bx = HEAP + 0x2000;
	world.stack[0] = CALLER;
	assert_step(3, STACK + 160);
	assert_int_equal(scratch.words[0], HEAP + 0x2000);
}

static void a_method_entry_may_have_popped_its_return_address(void **state)
{
	set_interpreter();
	scratch.walk.regs.r13 = STACK;
	scratch.walk.regs.bx = HEAP + 0x2000;
	scratch.walk.regs.ax = CALLER;
	assert_step(0, STACK + 160);
}

static void an_interpreted_return_keeps_its_return_address_in_r13(void **state)
{
	set_interpreter();
	scratch.walk.regs.r13 = CALLER;
	scratch.walk.regs.bx = STACK + 40;
	assert_step(5, STACK + 160);
	assert_int_equal(scratch.words[1] >> USER_FRAME_KIND_SHIFT, USER_FRAME_INTERPRETER);
}

/* After leave, each instruction of the exit has the return address and sp in other places. */
static void exits_of_the_interpreter_are_known_by_their_code(void **state)
{
	const struct {
		const char code[24];
		struct regs regs;
		u64 top;
		int sp; /* of the caller, in words of the stack */
	} exits[] = {
		{ "\x41\x5d\x48\x8b\xe3\x41\xff\xe5", { .bx = STACK + 40 }, CALLER, 5 },
		{ "\x48\x8b\xe3\x41\xff\xe5", { .bx = STACK + 40, .r13 = CALLER }, 0, 5 },
		{ "\x5f\x49\x8b\xe3\xff\xe7", { .r11 = STACK + 48 }, CALLER, 6 },
		{ "\x5f\x49\x8b\xe5\xff\xe7", { .r13 = STACK + 56 }, CALLER, 7 },
		{ "\x49\x8b\xe3\xff\xe7", { .di = CALLER, .r11 = STACK + 48 }, 0, 6 },
		{ "\x49\x8b\xe5\xff\xe7", { .di = CALLER, .r13 = STACK + 56 }, 0, 7 },
		{ "\xff\xe7", { .di = CALLER }, 0, 0 },
		{ "\x48\x8b\xd8\x5a\x58\xff\xe3", { 0 }, CALLER, 2 },
		{ "\xe9\x05\0\0\0\xe8....\x48\x8b\xd8\x5a\x58\xff\xe3", { 0 }, CALLER, 2 },
		{ "\x58\xff\xe3", { .dx = CALLER }, 0, 1 },
		{ "\xff\xe3", { .dx = CALLER }, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(exits); i++) {
		set_interpreter();
		put(CODE + 0x100, exits[i].code, sizeof(exits[i].code));
		world.stack[0] = exits[i].top;
		const struct regs old = scratch.walk.regs;
		scratch.walk.regs = exits[i].regs;
		scratch.walk.regs.pc = old.pc;
		scratch.walk.regs.sp = old.sp;
		scratch.walk.regs.fp = old.fp;
		assert_step(exits[i].sp, STACK + 160);
		assert_int_equal(scratch.walk.rule, RULE_INTERPRETER_EXIT);
	}
}

/* An exception leaves a recursive method: r13 is its bytecode pointer, and fp is the caller's. */
static void a_left_frame_is_not_taken_for_its_caller(void **state)
{
	set_interpreter();
	world.stack[18] = STACK + 40;
	world.stack[0] = CALLER;
	scratch.walk.regs.r13 = HEAP + 0x303b;
	scratch.walk.regs.bx = STACK + 40;
	assert_step(5, STACK + 160);
}

/* The call that looked up the handler had aligned sp: the return address is one word higher. */
static void an_exception_leaves_where_its_handler_is_looked_up(void **state)
{
	static const char code[] =
		"\x48\x83\xc4\x08\xe9\x05\0\0\0\xe8....\x48\x8b\xd8\x5a\x58\xff\xe3";

	set_interpreter();
	put(CODE + 0x100, code, sizeof(code) - 1);
	world.stack[1] = CALLER;
	assert_step(3, STACK + 160);
	assert_int_equal(scratch.walk.rule, RULE_INTERPRETER_EXIT);
}

/* mov r10, [rbp - 16]; lea rsp, [rbp + r10 * 8]; mov qword [rbp - 16], 0; mov r13, [rbp - 64] */
static void jdk_28_restores_its_stack_by_r10(void **state)
{
	static const char code[] =
		"\x4c\x8b\x55\xf0\x4a\x8d\x64\xd5\0\x48\xc7\x45\xf0\0\0\0\0\x4c\x8b\x6d\xc0";

	set_interpreter();
	put(CODE + 0x100, code, sizeof(code) - 1);
	scratch.walk.regs.r13 = CALLER;
	assert_step(25, 0x77);
}

/* mov rsp, [rbp - 16]; mov qword [rbp - 16], 0; mov r13, [rbp - 64] */
static void where_a_callee_returns_the_frame_has_the_bytecode_pointer(void **state)
{
	static const char code[] = "\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0\x4c\x8b\x6d\xc0";

	set_interpreter();
	put(CODE + 0x100, code, sizeof(code) - 1);
	scratch.walk.regs.r13 = CALLER; /* a value left by the callee */
	assert_step(25, 0x77);
	assert_int_equal(scratch.words[1] & USER_FRAME_BCP_MASK, HEAP + 0x3038);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interpreter_frame_gives_method_and_bytecode),
		cmocka_unit_test(a_calling_interpreter_frame_has_saved_its_bytecode_pointer),
		cmocka_unit_test(a_method_entry_without_frame_is_unwound_by_its_return_address),
		cmocka_unit_test(a_method_entry_may_have_popped_its_return_address),
		cmocka_unit_test(an_interpreted_return_keeps_its_return_address_in_r13),
		cmocka_unit_test(exits_of_the_interpreter_are_known_by_their_code),
		cmocka_unit_test(a_left_frame_is_not_taken_for_its_caller),
		cmocka_unit_test(an_exception_leaves_where_its_handler_is_looked_up),
		cmocka_unit_test(jdk_28_restores_its_stack_by_r10),
		cmocka_unit_test(where_a_callee_returns_the_frame_has_the_bytecode_pointer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
