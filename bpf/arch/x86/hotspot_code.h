/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Patterns of HotSpot's code around the pc of a leaf, x86-64, collected from the code heaps of JDK
 * 8 to 28 (docs/unwinding.md). The pc of a leaf is an instruction boundary, so the bytes at it
 * decode exactly. Bytes before it may be the tail of a longer instruction. They count only together
 * with the bytes that follow, or when they are too many to match by chance.
 */
#pragma once

#include "unwind/walk.h"

/* Where the caller is, according to the instructions at the pc. */
enum shape {
	SHAPE_BODY,         /* no special case: the frame is complete */
	SHAPE_RA_AT_SP,     /* no frame (yet, or any more): return address at sp */
	SHAPE_FP_AT_SP,     /* saved fp at sp, return address above it */
	SHAPE_FP_UNCHANGED, /* complete frame, but fp is still the caller's */
	SHAPE_RA_ABOVE_SP,  /* return address one word above sp */
};

/* Reads the bytes around the pc. Unreadable ones become zeros. */
static __always_inline void read_code(struct walk *w)
{
	u64 pc = w->regs.pc;

	if (!walk_read(w->code, sizeof(w->code), pc - WALK_CODE_BEFORE))
		return;
	__builtin_memset(w->code, 0, sizeof(w->code));
	if (walk_read(w->code + WALK_CODE_BEFORE, WALK_CODE_AFTER, pc))
		walk_read(w->code + WALK_CODE_BEFORE, WALK_CODE_AFTER / 2, pc);
}

/*
 * Up to 4 bytes at `at` (-WALK_CODE_BEFORE .. WALK_CODE_AFTER - 4) from the pc, first byte lowest.
 */
static __always_inline u32 code_at(const struct walk *w, int at)
{
	const u8 *p = &w->code[WALK_CODE_BEFORE + at];

	return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
}

#define code_1(w, at) (code_at(w, at) & 0xff)
#define code_2(w, at) (code_at(w, at) & 0xffff)
#define code_3(w, at) (code_at(w, at) & 0xffffff)

#define CALL_BYTES 8 /* read before a return address; call rel32 has 5 */

/* Whether the code before a return address is a call: e8 rel32 or ff d0..d7. */
static __always_inline bool is_behind_call(const u8 before[CALL_BYTES])
{
	return before[3] == 0xe8 || (before[6] == 0xff && (before[7] & 0xf8) == 0xd0);
}

/* sub rsp, imm8 or imm32: 48 83 ec ib, 48 81 ec id; the instruction's length or 0. */
static __always_inline int is_sub_sp(const struct walk *w, int at)
{
	u32 c = code_3(w, at);

	return c == 0xec8348 ? 4 : c == 0xec8148 ? 7 : 0;
}

/* mov [rsp + disp8 or disp32], rbp: 48 89 6c 24, 48 89 ac 24; mov [rsp], rbp: 48 89 2c 24 */
static __always_inline bool is_store_fp(const struct walk *w, int at)
{
	u32 c = code_at(w, at);

	return c == 0x246c8948 || c == 0x24ac8948 || c == 0x242c8948;
}

/* jmp reg: ff e0 .. e7, 41 ff e0 .. e7 */
static __always_inline bool is_jump(const struct walk *w, int at)
{
	u32 c = code_3(w, at);

	return (c & 0xf8ff) == 0xe0ff || (c & 0xf8ffff) == 0xe0ff41;
}

/* mov rbp, rsp: 48 8b ec, 48 89 e5 */
static __always_inline bool is_set_fp(const struct walk *w, int at)
{
	u32 c = code_3(w, at);

	return c == 0xec8b48 || c == 0xe58948;
}

/* add rbp, imm8 or imm32: 48 83 c5 ib, 48 81 c5 id */
static __always_inline bool is_add_fp(const struct walk *w, int at)
{
	u32 c = code_3(w, at);

	return c == 0xc58348 || c == 0xc58148;
}

/* push rbp; mov rbp, rsp */
static __always_inline bool is_enter(const struct walk *w, int at)
{
	return code_1(w, at) == 0x55 && is_set_fp(w, at + 1);
}

/* cmp dword [r15 + disp8], imm32: 41 81 7f, the nmethod entry barrier (JDK 17+) */
static __always_inline bool is_entry_barrier(const struct walk *w, int at)
{
	return code_3(w, at) == 0x7f8141;
}

/*
 * The interpreter after a callee has returned or thrown: it restores its stack pointer first and
 * its bytecode pointer last.
 * mov rsp, [rbp + d8] (25+: mov rcx, [rbp + d8]; lea rsp, [rbp + rcx * 8]; 28: the same by r10);
 * mov qword [rbp + d8], 0; mov rdx, rax; mov r13, [rbp + bcp_slot * 8]
 */
static __always_inline bool is_before_restored_bcp(const struct walk *w, int bcp_slot)
{
	u32 at = 0;

	for (int i = 0; i < 5 && at <= WALK_CODE_AFTER - 8; i++) {
		u32 off = at;
		keep_as_written(off); /* the verifier of Linux 6.1 needs the mask below */
		u32 c = code_at(w, off & (WALK_CODE_AFTER - 1));

		if ((c & 0xffffff) == 0x6d8b4c)
			return c >> 24 == (u8)(bcp_slot * 8);
		u32 bytes = walk_restoring_bytes(c);
		if (!bytes)
			return false;
		at += bytes;
	}
	return false;
}

/* The instructions that remain in an exit of the interpreter after leave. */
enum exit_shape {
	EXIT_NONE,
	EXIT_JAVA_POP,      /* pop r13; mov rsp, rbx; jmp r13 */
	EXIT_JAVA_JUMP,     /* the last two instructions of that, or the last one */
	EXIT_NATIVE_POP,    /* pop rdi; mov rsp, r11; jmp rdi */
	EXIT_SMALL_POP,     /* as EXIT_NATIVE_POP, with r13: JDK 8's small methods */
	EXIT_NATIVE_SET_SP, /* the last two */
	EXIT_SMALL_SET_SP,
	EXIT_NATIVE_JUMP,
	EXIT_THROW_POP, /* [mov rbx, rax]; pop rdx; pop rax; jmp rbx */
	EXIT_THROW_POP_OOP,
	EXIT_THROW_JUMP,
	EXIT_THROW_ALIGNED, /* add rsp, 8, then a jump to EXIT_THROW_POP */
};

/* `at`: offset of the instruction from the pc. */
static __always_inline enum exit_shape exit_shape_at(const struct walk *w, int at)
{
	u32 c = code_at(w, at);

	if (c == 0x8b485d41 && code_at(w, at + 4) == 0xe5ff41e3)
		return EXIT_JAVA_POP;
	if ((c == 0x41e38b48 && code_2(w, at + 4) == 0xe5ff) || (c & 0xffffff) == 0xe5ff41)
		return EXIT_JAVA_JUMP;
	if (c == 0xe38b495f && code_2(w, at + 4) == 0xe7ff)
		return EXIT_NATIVE_POP;
	if (c == 0xe58b495f && code_2(w, at + 4) == 0xe7ff)
		return EXIT_SMALL_POP;
	if ((c & 0xffffff) == 0xe38b49 && code_2(w, at + 3) == 0xe7ff)
		return EXIT_NATIVE_SET_SP;
	if ((c & 0xffffff) == 0xe58b49 && code_2(w, at + 3) == 0xe7ff)
		return EXIT_SMALL_SET_SP;
	if ((c & 0xffff) == 0xe7ff)
		return EXIT_NATIVE_JUMP;
	if (c == 0xe3ff585a || (c == 0x5ad88b48 && code_3(w, at + 4) == 0xe3ff58))
		return EXIT_THROW_POP;
	if ((c & 0xffffff) == 0xe3ff58)
		return EXIT_THROW_POP_OOP;
	return (c & 0xffff) == 0xe3ff ? EXIT_THROW_JUMP : EXIT_NONE;
}

/*
 * The end of the lookup of an exception's handler: a jump over the variant of the call that aligns
 * sp (MacroAssembler::call_VM_leaf_base).
 */
static __always_inline bool is_jump_to_throw(const struct walk *w, int at)
{
	return code_1(w, at) == 0xe9 && code_at(w, at + 1) == 5 &&
	       exit_shape_at(w, at + 10) == EXIT_THROW_POP;
}

/* In 25+, mov byte [r15 + d32], 0 stands between leave and the exit of a native method. */
static __always_inline enum exit_shape exit_shape(const struct walk *w)
{
	bool is_resetting = code_3(w, 0) == 0x87c641 && code_1(w, -1) == 0xc9;

	if (code_at(w, 0) == 0x08c48348 && is_jump_to_throw(w, 4))
		return EXIT_THROW_ALIGNED;
	if (is_jump_to_throw(w, 0))
		return EXIT_THROW_POP;
	return exit_shape_at(w, is_resetting ? 8 : 0);
}

/*
 * A safepoint poll followed by ret: the frame is already gone.
 * 8: test [rip + d32], eax; far: mov r10, i64; test [r10], eax
 * 11: mov r10, [r15 + d]; test [r10], eax    17+: cmp rsp, [r15 + d]; ja stub
 */
static __always_inline bool is_poll(const struct walk *w)
{
	u32 c = code_at(w, 0);

	switch (c & 0xff) {
	case 0xc3: /* ret */
		return true;
	case 0x85:
		return (c & 0xffff) == 0x0585 && code_1(w, 6) == 0xc3;
	case 0x0f:
		return (c & 0xffff) == 0x870f && code_1(w, 6) == 0xc3;
	case 0x41: /* test [r10], eax; ret */
		return (c & 0xffffff) == 0x028541 && code_1(w, 3) == 0xc3;
	case 0x49:
		if ((c & 0xffffff) == 0xa73b49) /* cmp rsp, [r15 + d32] */
			return code_2(w, 7) == 0x870f && code_1(w, 13) == 0xc3;
		if ((c & 0xffffff) == 0x673b49) /* cmp rsp, [r15 + d8] */
			return code_2(w, 4) == 0x870f && code_1(w, 10) == 0xc3;
		return (c & 0xffff) == 0xba49 && code_at(w, 10) == 0xc3028541;
	case 0x4d:
		if ((c & 0xffffff) == 0x978b4d)
			return code_at(w, 7) == 0xc3028541;
		return (c & 0xffffff) == 0x578b4d && code_at(w, 4) == 0xc3028541;
	}
	return false;
}

/*
 * The end of the poll stub (17+), which runs after the frame is popped: mov r10, i64 (or lea r10,
 * [rip + d32]); mov [r15 + _saved_exception_pc], r10; jmp handler.
 */
static __always_inline bool is_poll_stub(const struct walk *w)
{
	u32 c = code_3(w, 0);

	if ((c & 0xffff) == 0xba49)
		return code_3(w, 10) == 0x97894d && code_1(w, 17) == 0xe9;
	if (c == 0x158d4c)
		return code_3(w, 7) == 0x97894d && code_1(w, 14) == 0xe9;
	if (c == 0x97894d)
		return code_1(w, 7) == 0xe9;
	return (c & 0xff) == 0xe9 && code_3(w, -7) == 0x97894d;
}

/* After add rsp, N; pop rbp: 48 83 c4 ib 5d, 48 81 c4 id 5d. Too many bytes to match by chance. */
static __always_inline bool is_behind_pop(const struct walk *w)
{
	return code_1(w, -1) == 0x5d && (code_3(w, -5) == 0xc48348 || code_3(w, -8) == 0xc48148);
}

/*
 * The check after pop rbp in methods with @ReservedStackAccess:
 * cmp rsp, [r15 + d32]; jb over (MacroAssembler::reserved_stack_check)
 */
static __always_inline bool is_reserved_check(const struct walk *w)
{
	u32 c = code_2(w, 0);

	if (code_3(w, 0) == 0xa73b49)
		return code_1(w, 7) == 0x72 || code_2(w, 7) == 0x820f;
	return ((c & 0xff) == 0x72 || c == 0x820f) && code_3(w, -7) == 0xa73b49;
}

/* The shape inside a prologue. Its last instruction ends `left` bytes after the pc. */
static __always_inline enum shape prologue_shape(const struct walk *w, s64 left)
{
	u32 c = code_at(w, 0);
	int sub = is_sub_sp(w, 0);

	/* Without stack bang fp is stored after sub; otherwise it was pushed before. */
	if (sub)
		return is_store_fp(w, sub == 4 ? 4 : 7) ? SHAPE_RA_AT_SP : SHAPE_FP_AT_SP;
	/* mov rbp, rsp; add rbp, N: the code of -XX:+PreserveFramePointer after fp is stored. */
	if (is_add_fp(w, 0) || (is_set_fp(w, 0) && is_add_fp(w, 3)))
		return SHAPE_BODY;
	if (is_set_fp(w, 0))
		return SHAPE_FP_AT_SP;
	if (is_store_fp(w, 0))
		return SHAPE_FP_UNCHANGED;
	/* lea rbp, [rsp + d]: the frame pointer of -XX:+PreserveFramePointer */
	if ((c & 0xffffff) == 0x6c8d48 || (c & 0xffffff) == 0xac8d48)
		return SHAPE_BODY;

	/*
	 * The entry barrier is last: a compare, and a jump that ends where the frame is complete.
	 */
	if (is_entry_barrier(w, 0) || (left == 6 && (c & 0xffff) == 0x850f) ||
	    (left == 11 && (c & 0xffff) == 0x840f) || (left == 7 && (c & 0xff) == 0x74) ||
	    (left == 5 && (c & 0xff) == 0xe8))
		return SHAPE_BODY;
	/* Padding (nop, with prefixes) stands before the barrier or before the frame. */
	if ((c & 0xff) == 0x90 || (c & 0xff) == 0x66 || (c & 0xffff) == 0x1f0f) {
		for (int i = 1; i < 12; i++)
			if (is_entry_barrier(w, i))
				return SHAPE_BODY;
	}
	return SHAPE_RA_AT_SP;
}

/* In an nmethod of C1 or C2; `left` as above, <= 0 after the prologue. */
static __always_inline enum shape compiled_shape(const struct walk *w, s64 left)
{
	if (left > 0)
		return code_1(w, 0) == 0xc3 ? SHAPE_RA_AT_SP : prologue_shape(w, left);
	if (code_1(w, 0) == 0x5d)
		return SHAPE_FP_AT_SP;
	if (is_poll(w) || is_poll_stub(w) || is_behind_pop(w) || is_reserved_check(w))
		return SHAPE_RA_AT_SP;
	return SHAPE_BODY;
}

/*
 * In the wrapper of a native method; `left` as above. The wrapper ends with these instructions.
 * Behind `leave` the return address is at sp:
 *
 *   leave
 *   testb of the poll, je       JDK 25 and later only
 *   cmpq $0, pending_exception  with an imm32 up to JDK 17, an imm8 from JDK 21 on
 *   jne                         to the handler of the exception
 *   ret
 */
static __always_inline enum shape wrapper_shape(const struct walk *w, s64 left)
{
	u32 c = code_at(w, 0);

	if ((c & 0xff) == 0xc3)
		return SHAPE_RA_AT_SP;
	if (left > 0)
		return prologue_shape(w, left);
	if ((c & 0xffff) == 0x850f && code_1(w, 6) == 0xc3)
		return SHAPE_RA_AT_SP;
	if (c == 0x087f8149 && code_2(w, 8) == 0x850f)
		return SHAPE_RA_AT_SP;
	if (c == 0x087f8349 && code_2(w, 5) == 0x850f && code_1(w, 11) == 0xc3)
		return SHAPE_RA_AT_SP;
	if ((c & 0xffffff) == 0x47f641 && code_1(w, 5) == 0x74 && code_1(w, -1) == 0xc9)
		return SHAPE_RA_AT_SP;
	if (c == 0xba491674 || is_poll_stub(w))
		return SHAPE_RA_AT_SP;
	return (c & 0xff) == 0x5d ? SHAPE_FP_AT_SP : SHAPE_BODY;
}

/* The end of C2's ExceptionBlob after pop rdx: some moves, then jmp r8 to the handler. */
static __always_inline bool is_before_handler(const struct walk *w)
{
	for (int i = 0; i <= 28; i++)
		if (code_3(w, i) == 0xe0ff41)
			return true;
	return false;
}

/* In StubRoutines and other buffers without a frame size; with SHAPE_BODY, fp decides. */
static __always_inline enum shape buffer_shape(const struct walk *w)
{
	u32 c = code_at(w, 0);

	if (is_enter(w, 0) || (c & 0xff) == 0xc3)
		return SHAPE_RA_AT_SP;
	if (is_set_fp(w, 0) && code_1(w, -1) == 0x55)
		return SHAPE_FP_AT_SP;
	if ((c & 0xff) == 0x5d)
		return SHAPE_FP_AT_SP;
	if (code_1(w, -1) == 0xc9) { /* after leave: loads the result, or pops a word */
		if (((c & 0xffff) == 0xb848 && code_1(w, 10) == 0xc3) ||
		    ((c & 0xff) == 0xb8 && code_1(w, 5) == 0xc3))
			return SHAPE_RA_AT_SP;
		if (c == 0x08c48348 && code_1(w, 4) == 0xc3)
			return SHAPE_RA_ABOVE_SP;
	}
	return SHAPE_BODY;
}

/*
 * mov [rsp + d], rbp with the `slot` above sp where fp belongs. A store at another offset saves a
 * register.
 */
static __always_inline bool is_store_fp_at(const struct walk *w, u32 slot)
{
	u32 c = code_at(w, 0);

	return (c == 0x242c8948 && slot == 0) || (c == 0x246c8948 && code_1(w, 4) == slot) ||
	       (c == 0x24ac8948 && code_at(w, 4) == slot);
}

/* In a stub with a frame of `bytes`; `at_start`: the pc is the blob's first instruction. */
static __always_inline enum shape stub_shape(const struct walk *w, bool at_start, u32 bytes)
{
	u32 c = code_at(w, 0);

	if (at_start || (c & 0xff) == 0xc3 || (c & 0xff) == 0x55 || is_jump(w, 0))
		return SHAPE_RA_AT_SP;
	if (is_set_fp(w, 0) || (c & 0xff) == 0x5d)
		return SHAPE_FP_AT_SP;
	if (is_store_fp_at(w, bytes - 16))
		return SHAPE_FP_UNCHANGED;
	return is_behind_pop(w) ? SHAPE_RA_AT_SP : SHAPE_BODY;
}

/* pop reg: 58 .. 5f, 41 58 .. 5f; its length or 0. pop rbp belongs to the frame. */
static __always_inline u32 pop_bytes(u32 code)
{
	if ((code & 0xf8ff) == 0x5841)
		return 2;
	return (code & 0xf8) == 0x58 && (code & 0xff) != 0x5d;
}

/* push reg, with the same encodings */
static __always_inline u32 push_bytes(u32 code)
{
	if ((code & 0xf8ff) == 0x5041)
		return 2;
	return (code & 0xf8) == 0x50 && (code & 0xff) != 0x55;
}

/*
 * The number of words that the pops, at most two, in the lowest 4 bytes of `code` take from the
 * stack.
 */
static __always_inline u32 popped_words(u32 code)
{
	u32 first = pop_bytes(code);

	return first ? 1 + !!pop_bytes(first == 2 ? code >> 16 : code >> 8) : 0;
}

/*
 * C1 passes two words to slow_subtype_check: [mov r10, i64;] push; call rel32; pop; pop. The result
 * is the number of words on the stack at the pc (LIR_Assembler::emit_typecheck_helper).
 */
static __always_inline u32 pushed_words(const struct walk *w)
{
	u32 at = code_2(w, 0) == 0xba49 ? 10 : 0;
	u32 push = at ? push_bytes(code_at(w, 10)) : push_bytes(code_at(w, 0));

	if (at && !push)
		return 0;
	at = (at + push) & 15; /* the verifier needs the mask */
	if (code_1(w, at) == 0xe8) {
		u32 words = popped_words(code_at(w, at + 5));

		return words > !!push ? words - !!push : 0;
	}
	return push ? 0 : popped_words(code_at(w, 0));
}

/*
 * Words at sp that are being filled with registers and still hold dead data: sub rsp, imm8, then up
 * to four stores, the first to [rsp] (25+: MacroAssembler::push_set).
 */
static __always_inline u32 unfilled_words(const struct walk *w)
{
	for (int i = 0, bytes = 0; i <= 4; i++, bytes = 5 * i - 1)
		if (code_3(w, -4 - bytes) == 0xec8348 &&
		    (!i || ((code_2(w, -bytes) & 0xfffb) == 0x8948 &&
			    (code_2(w, 2 - bytes) & 0xffc7) == 0x2404)))
			return code_1(w, -1 - bytes) >> 3;
	return 0;
}

/* Where the return address of a leaf in an adapter is, if it is not at sp. */
enum adapter_shape {
	ADAPTER_RA_AT_SP,
	ADAPTER_SENDER_AT_SP, /* popped to rax; sp is the caller's */
	ADAPTER_RA_IN_RAX,    /* r13 is the caller's sp */
};

/*
 * Both kinds of adapter keep the return address in rax while they move sp. i2c: [sub rsp, N;] and
 * rsp, -16; push rax. c2i: [mov r13, rsp;] sub rsp, N, then mov [rsp], rax, or push rax (25+).
 */
static __always_inline enum adapter_shape adapter_shape(const struct walk *w)
{
	bool is_set = code_3(w, 0) == 0xec8b4c && code_1(w, -1) == 0x58 && is_sub_sp(w, 3);
	int sub = is_sub_sp(w, 0);
	u32 next = sub == 7 ? code_at(w, 7) : sub == 4 ? code_at(w, 4) : 0;

	if (is_set)
		return ADAPTER_SENDER_AT_SP;
	if (next == 0x24048948 || (next & 0xff) == 0x50 || next == 0xf0e48348)
		return ADAPTER_RA_IN_RAX;
	if (code_at(w, 0) == 0xf0e48348 && code_1(w, 4) == 0x50)
		return ADAPTER_RA_IN_RAX;
	if (code_1(w, 0) == 0x50 &&
	    (code_at(w, -4) == 0xf0e48348 || is_sub_sp(w, -4) || is_sub_sp(w, -7)))
		return ADAPTER_RA_IN_RAX;
	if (code_at(w, 0) == 0x24048948 && (is_sub_sp(w, -4) || is_sub_sp(w, -7)))
		return ADAPTER_RA_IN_RAX;
	return ADAPTER_RA_AT_SP;
}
