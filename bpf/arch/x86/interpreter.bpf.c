// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Frames of HotSpot's template interpreter: fixed slots around fp (cpu/x86/frame_x86.hpp). No table
 * exports some of the slots, and JDK 9 moved the bytecode pointer: the layout has them. Part of
 * unwind/walk.h.
 */
#include "hotspot_code.h"
#include "maps.h"
#include "unwind/interpreter_frame.h"

__noinline u32 walk_restoring_bytes(u32 code)
{
	switch (code & 0xffffff) {
	case 0x658b48:
	case 0x4d8b48:
	case 0x558b4c:
		return 4;
	case 0x45c748:
		return 8;
	case 0xd08b48:
		return 3;
	}
	return code == 0xcd648d48 || code == 0xd5648d4a ? 5 : 0;
}

/*
 * A method entry builds the frame word by word: return address, fp, sender sp, last sp, Method.
 * Until it is pushed, the Method is in rbx and the sender sp in r13. What a sample finds after each
 * instruction (TemplateInterpreterGenerator::generate_fixed_frame):
 *
 *	push rax         return address   fp is the caller's: step_before_entry
 *	push rbp         saved fp         fp is the caller's: step_before_entry, [sp] == fp
 *	mov rbp, rsp                      fp == sp: the sender sp is in r13
 *	push r13         sender sp        fp - sp == 8: it is also in slot -1
 *	push 0           last sp          fp - sp == 16: the Method is still in rbx
 *	..
 *	push rbx         Method           from here on as a whole frame
 */
static __always_inline int step_entry(struct walk *w, const u64 *slots)
{
	u64 sender_sp = w->regs.fp == w->regs.sp ? w->regs.r13 : slot(slots, -1);

	if (!is_method(w->regs.bx))
		return STAT_INTERPRETER_FRAME;
	set_interpreted(w, w->regs.bx, 0);
	w->rule = RULE_INTERPRETER_ENTRY;
	leave(w, slots, sender_sp);
	return 0;
}

/*
 * Before a method entry builds its frame, fp is the caller's. The return address is at sp, or above
 * the saved fp, or popped to rax or rcx (25+). r13 is the caller's sp, which adapters and the
 * locals move.
 */
static __always_inline int step_before_entry(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 ra;

	if (!is_method(w->regs.bx))
		return STAT_INTERPRETER_FRAME;
	if (walk_read(w->words, 16, w->regs.sp))
		return STAT_UNREADABLE;
	if (walk_is_return_address(jvm, w->words[0]))
		ra = w->words[0];
	else if (w->words[0] == w->regs.fp && walk_is_return_address(jvm, w->words[1]))
		ra = w->words[1];
	else if (walk_is_return_address(jvm, w->regs.ax))
		ra = w->regs.ax;
	else if (walk_is_return_address(jvm, w->regs.cx))
		ra = w->regs.cx;
	else
		return STAT_INTERPRETER_FRAME;
	set_interpreted(w, w->regs.bx, 0);
	w->rule = RULE_INTERPRETER_ENTRY;
	w->regs.pc = ra;
	w->regs.sp = w->regs.r13;
	return 0;
}

static __always_inline bool is_stack(const struct walk *w, u64 addr)
{
	return !(addr & 7) && addr - w->regs.sp <= SENDER_DISTANCE_MAX;
}

static __always_inline int exit_to(struct walk *w, const struct hotspot_layout *jvm, u64 ra, u64 sp)
{
	if (!walk_is_return_address(jvm, ra))
		return STAT_INTERPRETER_FRAME;
	w->rule = RULE_INTERPRETER_EXIT;
	w->regs.pc = ra;
	w->regs.sp = sp;
	return 0;
}

/*
 * After leave, by the remaining instructions: fp is the caller's. They pop the return address and
 * then set sp to the caller's.
 */
int walk_known_exit(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	const struct regs *r = &w->regs;
	u64 top[2] = {};

	if (!jvm)
		return STAT_NO_JVM;

	walk_read(top, sizeof(top), r->sp);
	switch (exit_shape(w)) {
	case EXIT_JAVA_POP:
		return exit_to(w, jvm, top[0], r->bx);
	case EXIT_JAVA_JUMP:
		return exit_to(w, jvm, r->r13, r->bx);
	case EXIT_NATIVE_POP:
		return exit_to(w, jvm, top[0], r->r11);
	case EXIT_SMALL_POP:
		return exit_to(w, jvm, top[0], r->r13);
	case EXIT_NATIVE_SET_SP:
		return exit_to(w, jvm, r->di, r->r11);
	case EXIT_SMALL_SET_SP:
		return exit_to(w, jvm, r->di, r->r13);
	case EXIT_NATIVE_JUMP:
		return exit_to(w, jvm, r->di, r->sp);
	case EXIT_THROW_POP:
		return exit_to(w, jvm, top[0], r->sp + 16);
	case EXIT_THROW_ALIGNED:
		return exit_to(w, jvm, top[1], r->sp + 24);
	case EXIT_THROW_POP_OOP:
		return exit_to(w, jvm, r->dx, r->sp + 8);
	case EXIT_THROW_JUMP:
		return exit_to(w, jvm, r->dx, r->sp);
	default:
		return STAT_INTERPRETER_FRAME;
	}
}

/*
 * A return or exception has left the frame: fp is the caller's and rbx its sp. The return address
 * is at sp, or popped to r13, or for an exception to rdx
 * (InterpreterMacroAssembler::remove_activation).
 */
static __always_inline int step_exit(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 bx = w->regs.bx, sp = w->regs.sp, ra;
	bool knows_sp = is_stack(w, bx);

	if (!exit_to(w, jvm, w->regs.r13, knows_sp ? bx : sp))
		return 0;
	if (!knows_sp)
		return STAT_INTERPRETER_FRAME;
	if (!exit_to(w, jvm, w->regs.dx, bx))
		return 0;
	return walk_read(&ra, sizeof(ra), sp) ? STAT_INTERPRETER_FRAME : exit_to(w, jvm, ra, bx);
}

static __always_inline int step_leaf(struct walk *w, const struct hotspot_layout *jvm,
				     const u64 *slots)
{
	u64 method = slots ? slot(slots, jvm->method_slot) : 0, bcp = w->regs.r13;

	read_code(w);
	if (!walk_known_exit(w))
		return 0;
	if (is_before_restored_bcp(w, jvm->bcp_slot)) {
		bcp = slots ? slot(slots, jvm->bcp_slot) : 0;
	} else if (slots && w->regs.fp - w->regs.sp <= 16) {
		return step_entry(w, slots);
	} else if (!runs(w, jvm, slots, method)) {
		if (is_stack(w, w->regs.r13) && !step_before_entry(w, jvm))
			return 0;
		if (!step_exit(w, jvm))
			return 0;
		/* A callee has just returned and changed r13: take the pointer from the frame. */
		if (!slots || !is_method(method))
			return STAT_INTERPRETER_FRAME;
		bcp = slot(slots, jvm->bcp_slot);
	}
	if (!slots) /* for the verifier: it does not see that `method` came from `slots` */
		return STAT_INTERPRETER_FRAME;
	set_interpreted(w, method, bcp);
	w->rule = RULE_INTERPRETER;
	leave(w, slots, slot(slots, jvm->sender_sp_slot));
	return 0;
}

/* Entries of intrinsic methods such as Math.sin call a stub without a frame of their own. */
static __always_inline bool is_intrinsic_entry(struct walk *w)
{
	static const u8 end[6] = { 0x58, 0x49, 0x8b, 0xe5, 0xff, 0xe0 };
	bool is = !walk_read(w->code, 8, w->regs.pc);

	for (u32 i = 0; i < sizeof(end); i++) /* pop rax; mov rsp, r13; jmp rax */
		is = is && w->code[i] == end[i];
	return is;
}

/*
 * An exception has left the frame, and its handler in the caller is being looked up: return address
 * and exception are on top of the caller's stack.
 */
static __always_inline bool is_throwing(struct walk *w)
{
	if (walk_read(w->code + WALK_CODE_BEFORE, WALK_CODE_AFTER, w->regs.pc))
		return false;
	enum exit_shape shape = exit_shape(w);
	return shape == EXIT_THROW_POP || shape == EXIT_THROW_ALIGNED;
}

int walk_interpreter(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);

	if (!jvm)
		return STAT_NO_JVM;
	if (w->callee_kind == USER_FRAME_STUB && is_intrinsic_entry(w)) {
		if (walk_read(&w->regs.pc, 8, w->regs.sp))
			return STAT_UNREADABLE;
		w->rule = RULE_RA_AT_SP;
		w->regs.sp += 8;
		return 0;
	}

	if (w->callee_kind == USER_FRAME_NATIVE && !w->is_leaf && is_throwing(w))
		return walk_known_exit(w);

	u64 fp = w->regs.fp;
	const u64 *slots = NULL;
	if (!(fp & 7) && fp - w->regs.sp <= FP_DISTANCE_MAX) {
		slots = walk_stack(w, fp - SLOTS_BELOW * 8, SLOTS_BELOW + 2);
		if (!slots)
			return STAT_UNREADABLE;
	}
	if (w->is_leaf)
		return step_leaf(w, jvm, slots);

	if (!slots)
		return STAT_INTERPRETER_FRAME;
	u64 method = slot(slots, jvm->method_slot);
	if (is_method(method)) {
		set_interpreted(w, method, slot(slots, jvm->bcp_slot));
		w->rule = RULE_INTERPRETER;
	} else if (is_unpacked(w, jvm, slots)) {
		w->rule = RULE_INTERPRETER_ENTRY;
	} else {
		return STAT_INTERPRETER_FRAME;
	}
	leave(w, slots, slot(slots, jvm->sender_sp_slot));
	return 0;
}
