// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Frames of a HotSpot code heap: compiled methods, wrappers, stubs, adapters. See
 * docs/unwinding.md. Part of unwind/walk.h.
 */
#include "hotspot_code.h"
#include "maps.h"
#include "unwind/hotspot_frame.h"

#define STUB_FP_MAX     (1ULL << 16) /* distance of fp from sp in a stub with a frame of fp */
#define SEARCH_WORDS    31           /* most words pushed below a return address */
#define CALLER_WORDS    16           /* by a frameless stub; slow_subtype_check pushes 8 */
#define FRAMELESS_BYTES 160          /* largest frameless routine; d2l_fixup has 100 bytes */
#define PUSH_FP         0x55         /* push rbp */
#define PUSH_RDX        0x52
#define POP_RDX         0x5a
#define POP_RCX         0x59
#define JMP_RCX         0xe1ff
/* The registers that pusha saves, in words from sp. */
#define SAVED_R13   2
#define SAVED_FP    10
#define SAVED_WORDS 16
/* bytes that a math stub saves: two words, 16 registers (pusha), xmm0 to xmm15 */
#define MATH_SAVED     400
#define MATH_SAVED_AVX 656
#define ENTRY_BARRIER  (~0ULL) /* cookie that method_entry_barrier pushes */
#define ROOM_BYTES     128     /* of a c2i adapter: with 15 arguments */

static __always_inline int step_sp(struct walk *w, u32 rule, u64 at)
{
	const u64 *ra = walk_stack(w, at, 1);

	return ra ? go_on(w, rule, *ra, at + 8) : STAT_UNREADABLE;
}

static __always_inline int step_fp_at(struct walk *w, u32 rule, u64 at)
{
	const u64 *words = walk_stack(w, at, 2);

	if (!words)
		return STAT_UNREADABLE;
	w->regs.fp = words[0];
	return go_on(w, rule, words[1], at + 16);
}

/*
 * JDK 8 calls C for functions such as the sine of large arguments. It saves all registers below
 * the frame: pusha, xmm0 to 15, with AVX their upper halves, the argument, and a word that aligns
 * sp, below the argument (C1) or above everything (C2). After the call: add rsp, 8 and jmp if
 * below; movsd [rsp], xmm0; fld [rsp], where most samples fall; add rsp, 8
 * (MacroAssembler::fp_runtime_fallback, cpu/x86/vm/macroAssembler_x86.cpp).
 */
static __always_inline bool has_called_math(struct walk *w)
{
	if (w->is_leaf)
		return code_3(w, 0) == 0x2404dd && code_at(w, 3) == 0x08c48348;
	if (walk_read(w->code + WALK_CODE_BEFORE, 24, w->regs.pc))
		return false;
	if (code_at(w, 0) == 0x08c48348 && code_1(w, 4) == 0xe9)
		return code_at(w, 18) == 0x2404dd24;
	return code_at(w, 4) == 0x2404dd24;
}

/* `from`: where the return address would be if nothing were saved below the frame. */
static __always_inline int step_math(struct walk *w, const struct hotspot_layout *jvm, u64 from)
{
	for (u32 i = 0; i < 4; i++) {
		u64 at = from + (i & 1 ? MATH_SAVED_AVX : MATH_SAVED);

		if (i & 2)
			at -= 8; /* C1's word has been popped */
		if (walk_read(w->words, 16, at - 8))
			return STAT_RETURN_ADDRESS;
		if (!walk_is_return_address(jvm, w->words[1]))
			continue;
		w->regs.fp = w->words[0];
		return go_on(w, RULE_MATH, w->words[1], at + 8);
	}
	return STAT_RETURN_ADDRESS;
}

/*
 * Searches for the return address above pushed words: C1 pushes arguments for its frameless stubs,
 * and slow paths of GC barriers push registers. The word must be an address behind a call, because
 * unused parts of the stack also contain addresses.
 */
int walk_search(struct walk *w, u64 from)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);

	if (!jvm)
		return STAT_RETURN_ADDRESS;
	if (has_called_math(w))
		return step_math(w, jvm, from);
	if (walk_read(w->words, (SEARCH_WORDS + 1) * 8, from))
		return STAT_RETURN_ADDRESS;
	count(STAT_SEARCHED);
	for (u32 i = 1; i <= SEARCH_WORDS; i++) {
		keep_as_written(i);
		u64 ra = w->words[i & (WALK_WORDS - 1)];

		if (!walk_is_return_address(jvm, ra))
			continue;
		w->regs.fp = w->words[(i - 1) & (WALK_WORDS - 1)];
		w->frame.info |= USER_FRAME_APPROXIMATE;
		return go_on(w, RULE_SEARCH, ra, from + (i + 1) * 8);
	}
	return STAT_RETURN_ADDRESS;
}

/* Steps over a frame whose size the blob gives: fp and return address are at its top. */
static __always_inline int step_frame_size(struct walk *w, const struct hotspot_layout *jvm,
					   bool fp_saved)
{
	u64 cfa = w->regs.sp + w->blob.frame_size * 8LL;
	const u64 *words = walk_stack(w, cfa - 16, 2);

	if (!words)
		return STAT_UNREADABLE;
	if (!walk_is_code(jvm, words[1]))
		return walk_search(w, cfa - 8);
	if (fp_saved)
		w->regs.fp = words[0];
	return go_on(w, fp_saved ? RULE_FRAME_SIZE : RULE_FRAME_SIZE_FP, words[1], cfa);
}

static __always_inline bool is_fp_frame(const struct walk *w, u64 bytes)
{
	u64 fp = w->regs.fp;

	return !(fp & 7) && fp - w->regs.sp < bytes;
}

static __always_inline int step_shape(struct walk *w, const struct hotspot_layout *jvm,
				      enum shape shape)
{
	u64 sp = w->regs.sp;

	switch (shape) {
	case SHAPE_RA_AT_SP:
		return step_sp(w, RULE_RA_AT_SP, sp);
	case SHAPE_RA_ABOVE_SP:
		return step_sp(w, RULE_RA_ABOVE_SP, sp + 8);
	case SHAPE_FP_AT_SP:
		return step_fp_at(w, RULE_FP_AT_SP, sp);
	case SHAPE_FP_UNCHANGED:
		return step_frame_size(w, jvm, false);
	default:
		return step_frame_size(w, jvm, true);
	}
}

/* The target of a call that ends at `ra`, if it is call rel32; otherwise 0. */
static __always_inline u64 call_target(u64 ra)
{
	u8 before[CALL_BYTES];

	if (walk_read(before, sizeof(before), ra - CALL_BYTES) || before[3] != 0xe8)
		return 0;
	return ra + (s32)(before[4] | before[5] << 8 | before[6] << 16 | (u32)before[7] << 24);
}

/*
 * A method calls the interpreter by way of code of its own: call; mov rbx, i64; jmp rel32. A pc in
 * that code still belongs to the method's frame (CompiledStaticCall::emit_to_interp_stub).
 */
static __always_inline bool is_in_call_stub(struct walk *w)
{
	u64 start = w->regs.pc;
	const u64 *ra;

	if (code_1(w, 0) == 0xe9 && code_2(w, -10) == 0xbb48)
		start -= 10;
	else if (code_2(w, 0) != 0xbb48 || code_1(w, 10) != 0xe9)
		return false;
	ra = walk_stack(w, w->regs.sp, 1);
	return ra && blob_holds(&w->blob, *ra) && call_target(*ra) == start;
}

/*
 * The number of words that a method has pushed for a call to a stub. Global, like the functions for
 * stubs and adapters below: the verifier would otherwise follow all cases in each caller.
 */
int walk_pushed_words(struct walk *w)
{
	u32 code = 0;

	if (!w)
		return 0;
	if (w->is_leaf)
		return is_in_call_stub(w) ? 1 : pushed_words(w);
	if (w->callee_kind != USER_FRAME_STUB || walk_read(&code, sizeof(code), w->regs.pc))
		return 0;
	return popped_words(code);
}

/* An nmethod. `left`: remaining bytes of the prologue. */
static __always_inline int step_nmethod(struct walk *w, const struct hotspot_layout *jvm)
{
	const struct blob *b = &w->blob;
	s64 left = b->frame_complete > 0 ? (s64)(blob_code(b) - w->regs.pc) + b->frame_complete : 0;
	enum shape shape = SHAPE_BODY;

	/* Method-handle intrinsics have no frame: they end in a jump. */
	if (b->frame_size <= 0)
		return step_sp(w, RULE_RA_AT_SP, w->regs.sp);
	/* Continuation.enterSpecial counts as incomplete until its entry is filled in. */
	if (b->addr == jvm->enter_special && w->regs.fp - w->regs.sp == b->frame_size * 8ULL - 16)
		return step_shape(w, jvm, SHAPE_BODY);
	if (b->class == HOTSPOT_CLASS_NATIVE)
		return step_shape(w, jvm, w->is_leaf ? wrapper_shape(w, left) : SHAPE_BODY);
	if (w->is_leaf)
		shape = compiled_shape(w, left);
	if (shape == SHAPE_BODY && (w->is_leaf || w->callee_kind == USER_FRAME_STUB))
		w->regs.sp += 8 * (walk_pushed_words(w) & 3);
	return step_shape(w, jvm, shape);
}

/*
 * C2's ExceptionBlob is entered by a jump, with the method's frame in place and the pc of its call
 * in rdx. It pushes rdx like a return address and pops it before it jumps to the handler
 * (cpu/x86/runtime_x86_64.cpp).
 */
static __always_inline int step_exception_blob(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 sp = w->regs.sp;

	if (is_sub_sp(w, 0) || code_1(w, 0) == POP_RDX)
		return step_sp(w, RULE_RA_AT_SP, sp);
	if (is_store_fp(w, 0))
		return step_frame_size(w, jvm, false);
	if (w->regs.pc != blob_code(&w->blob) && !is_before_handler(w))
		return step_frame_size(w, jvm, true);
	if (!walk_is_return_address(jvm, w->regs.dx))
		return STAT_STUB_FRAME;
	return go_on(w, RULE_RA_IN_RDX, w->regs.dx, sp);
}

/* A runtime stub with a frame. */
static __always_inline int step_stub(struct walk *w, const struct hotspot_layout *jvm)
{
	const struct blob *b = &w->blob;
	enum shape shape;
	u8 first = 0;

	if (!w->is_leaf)
		return step_shape(w, jvm, SHAPE_BODY);
	walk_read(&first, 1, blob_code(b));
	if (first == PUSH_RDX)
		return step_exception_blob(w, jvm);
	/* C2's rethrow stub pops its return address and jumps to the handler there. */
	if (code_1(w, -1) == POP_RDX && is_jump(w, 0) && walk_is_return_address(jvm, w->regs.dx))
		return go_on(w, RULE_RA_IN_RDX, w->regs.dx, w->regs.sp);
	/*
	 * C1's handle_exception_from_callee pops the address of the handler, which may not follow a
	 * call (cpu/x86/c1_Runtime1_x86.cpp).
	 */
	if (code_1(w, -1) == POP_RCX && (code_3(w, 0) & 0xffff) == JMP_RCX &&
	    walk_is_code(jvm, w->regs.cx))
		return go_on(w, RULE_RA_IN_RCX, w->regs.cx, w->regs.sp);
	shape = stub_shape(w, w->regs.pc == blob_code(b), b->frame_size * 8);
	if (shape == SHAPE_BODY && is_fp_frame(w, b->frame_size * 8ULL))
		return step_fp_at(w, RULE_FP_FRAME, w->regs.fp);
	return step_shape(w, jvm, shape);
}

/* See unfilled_words. */
int walk_unfilled_words(struct walk *w)
{
	return w ? unfilled_words(w) : 0;
}

/*
 * Code that only pushes: the caller is at the call of an address in [from, pc]. The result is
 * exact, because only pushed words lie between sp and the return address.
 */
int walk_call_target(struct walk *w, u64 from)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (w->is_leaf)
		w->regs.sp += 8 * (walk_unfilled_words(w) & 15);
	u64 sp = w->regs.sp;

	if (!jvm || walk_read(w->words, CALLER_WORDS * 8, sp))
		return STAT_UNREADABLE;
	for (u32 i = 0; i < CALLER_WORDS; i++) {
		keep_as_written(i);
		u64 ra = w->words[i & (WALK_WORDS - 1)];

		if (!walk_is_code(jvm, ra))
			continue;
		u64 target = call_target(ra);
		u8 first;
		if (target < from || target > w->regs.pc || walk_read(&first, 1, target))
			continue;
		if (first == PUSH_FP)
			return STAT_STUB_FRAME; /* fp is the routine's own */
		return go_on(w, RULE_CALL_TARGET, ra, sp + i * 8 + 8);
	}
	return STAT_STUB_FRAME;
}

/*
 * A frameless stub of C1. unwind_exception is entered by a jump, with the return address at sp, and
 * aligns sp by a word for its own calls.
 */
static __always_inline int step_frameless(struct walk *w, const struct hotspot_layout *jvm)
{
	int stop = walk_call_target(w, blob_code(&w->blob));

	if (stop != STAT_STUB_FRAME)
		return stop;
	if (walk_is_return_address(jvm, w->words[0]))
		return go_on(w, RULE_RA_AT_SP, w->words[0], w->regs.sp + 8);
	if (walk_is_return_address(jvm, w->words[1]))
		return go_on(w, RULE_RA_ABOVE_SP, w->words[1], w->regs.sp + 16);
	return stop;
}

/*
 * StubRoutines and other buffers. Most routines have a frame of fp. Small ones such as f2i_fixup
 * only push.
 */
static __always_inline int step_buffer(struct walk *w, const struct hotspot_layout *jvm)
{
	enum shape shape = w->is_leaf ? buffer_shape(w) : SHAPE_BODY;
	u64 fp = w->regs.fp;

	if (shape != SHAPE_BODY)
		return step_shape(w, jvm, shape);
	if (w->is_leaf && !walk_call_target(w, w->regs.pc - FRAMELESS_BYTES))
		return 0;
	if (!is_fp_frame(w, STUB_FP_MAX)) {
		if (!w->is_leaf)
			return STAT_STUB_FRAME;
		/*
		 * A leaf without a frame: its return address must follow a call in the code heap.
		 */
		if (walk_read(w->words, 8, w->regs.sp))
			return STAT_UNREADABLE;
		if (!walk_is_return_address(jvm, w->words[0]))
			return STAT_STUB_FRAME;
		return go_on(w, RULE_RA_AT_SP, w->words[0], w->regs.sp + 8);
	}
	const u64 *words = walk_stack(w, fp, 3);
	if (!words)
		return STAT_UNREADABLE;
	w->regs.fp = words[0];
	if (words[1] == ENTRY_BARRIER)
		return go_on(w, RULE_FP_FRAME, words[2], fp + 24);
	return go_on(w, RULE_FP_FRAME, words[1], fp + 16);
}

/*
 * fxrstor [rsp]; add rsp, id: the code after the call that c2i adapters make with all registers
 * saved.
 */
static __always_inline bool restores_all(struct walk *w, u32 *bytes)
{
	if (walk_read(w->code + WALK_CODE_BEFORE, 16, w->regs.pc))
		return false;
	if (code_3(w, 0) != 0x77f8c5 || code_at(w, 3) != 0x0cae0f48 || code_at(w, 7) != 0xc4814824)
		return false;
	*bytes = code_at(w, 11);
	return true;
}

/*
 * Whether the code before the pc has moved sp for a c2i adapter: pop rax; mov r13, rsp; sub rsp.
 * 25+: lea r13, [rsp + 8]; pop rax; sub rsp.
 */
int walk_has_made_room(struct walk *w)
{
	if (!w)
		return 0;
	u64 from = w->regs.pc - ROOM_BYTES, code = 0;
	const u8 *bytes = (const u8 *)w->words;

	if (walk_read(w->words, ROOM_BYTES, from))
		return 0;
	for (u64 i = 0; i < ROOM_BYTES; i++) {
		keep_as_written(i);
		code = code >> 8 | (u64)bytes[i & (sizeof(w->words) - 1)] << 56;
		if (code >> 24 == 0x48ec8b4c58 || code >> 8 == 0x485808246c8d4c)
			return from + i - 8 >= blob_code(&w->blob);
	}
	return 0;
}

/*
 * A leaf in an adapter that has moved sp, or is about to. Words on its stack may be dead return
 * addresses, so the code decides (SharedRuntime::generate_i2c2i_adapters).
 */
int walk_adapter(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	u64 sender_sp = w->regs.r13, ra = w->regs.ax;
	enum adapter_shape shape = adapter_shape(w);

	if (!jvm)
		return STAT_NO_JVM;
	if (shape == ADAPTER_SENDER_AT_SP)
		sender_sp = w->regs.sp;
	if (shape == ADAPTER_RA_AT_SP &&
	    (!walk_has_made_room(w) || walk_read(&ra, sizeof(ra), w->regs.sp)))
		return STAT_STUB_FRAME;
	if (sender_sp - w->regs.sp > STUB_FP_MAX || !walk_is_return_address(jvm, ra))
		return STAT_STUB_FRAME;
	return go_on(w, RULE_ADAPTER, ra, sender_sp);
}

/*
 * Vtable stubs and adapters have no frame. A c2i adapter may call the JVM to patch its caller. It
 * keeps sp in r13, one of the registers that it saves (SharedRuntime::gen_c2i_adapter).
 */
static __always_inline int step_bare(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 sp = w->regs.sp, ra;
	u32 bytes;

	if (w->is_leaf && w->blob.kind != USER_FRAME_VTABLE && !walk_adapter(w))
		return 0;
	if (walk_read(&ra, sizeof(ra), sp))
		return STAT_UNREADABLE;
	if (walk_is_return_address(jvm, ra))
		return go_on(w, RULE_RA_AT_SP, ra, sp + 8);
	if (w->is_leaf) {
		sp = w->regs.r13;
		if (sp - w->regs.sp > STUB_FP_MAX)
			return STAT_STUB_FRAME;
		/* the return address was popped to rax to make room below it */
		if (walk_is_return_address(jvm, w->regs.ax))
			return go_on(w, RULE_RA_AT_SP, w->regs.ax, sp);
	} else if (!restores_all(w, &bytes) || bytes > STUB_FP_MAX ||
		   walk_read(w->words, SAVED_WORDS * 8, sp + bytes)) {
		return STAT_STUB_FRAME;
	} else {
		sp = w->words[SAVED_R13];
		w->regs.fp = w->words[SAVED_FP];
	}
	if (walk_read(&ra, sizeof(ra), sp) || !walk_is_return_address(jvm, ra))
		return STAT_STUB_FRAME;
	return go_on(w, RULE_RA_AT_SP, ra, sp + 8);
}

static __always_inline int step_by_class(struct walk *w, const struct hotspot_layout *jvm)
{
	const struct blob *b = &w->blob;

	switch (b->class) {
	case HOTSPOT_CLASS_NMETHOD:
	case HOTSPOT_CLASS_NATIVE:
		return step_nmethod(w, jvm);
	case HOTSPOT_CLASS_BARE:
		return step_bare(w, jvm);
	}
	if (b->frame_size > 0)
		return step_stub(w, jvm);
	if (b->frame_size == 0)
		return step_buffer(w, jvm);
	/*
	 * The frame's size is not known, but some of these stubs set up fp: C1's slow paths of G1
	 * barriers.
	 */
	u8 first = 0;
	walk_read(&first, 1, blob_code(b));
	return first == PUSH_FP ? step_buffer(w, jvm) : step_frameless(w, jvm);
}

int walk_set_frame(struct walk *w)
{
	if (w)
		set_frame(w);
	return 0;
}

/* Whether the code moves frames. Its first and last instructions leave a plain frame. */
static __always_inline bool moves_frames(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 pc = w->regs.pc - !w->is_leaf;

	if (pc - jvm->cont_stubs_start < jvm->cont_stubs_end - jvm->cont_stubs_start)
		return !w->is_leaf || buffer_shape(w) == SHAPE_BODY;
	return w->is_leaf && w->blob.addr == jvm->do_yield && walk_is_popped(w, jvm);
}

static __always_inline int step(struct walk *w, const struct hotspot_layout *jvm)
{
	if (walk_is_interpreter(jvm, w->regs.pc)) {
		w->frame.info |= (u64)USER_FRAME_INTERPRETER << USER_FRAME_KIND_SHIFT;
		return walk_interpreter(w);
	}
	w->frame.info |= (u64)USER_FRAME_STUB << USER_FRAME_KIND_SHIFT | USER_FRAME_BLOB_MASK;
	int stop = walk_find_blob(w, w->regs.pc - !w->is_leaf);
	if (stop)
		return stop;
	set_frame(w);
	if (w->blob.addr == jvm->do_yield)
		w->yields = 1;
	if (w->is_leaf)
		read_code(w);

	bool may_be_native = w->regs.pc == jvm->call_stub_return || w->is_leaf;
	stop = moves_frames(w, jvm) ? walk_continuation(w) : step_by_class(w, jvm);
	if (!stop && !may_be_native && !walk_is_code(jvm, w->regs.pc))
		count(STAT_NATIVE_CALLER);
	return stop;
}

int walk_hotspot(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);

	if (!jvm)
		return STAT_NO_JVM;
	if (!w->top_pc && !w->is_leaf && w->callee_kind == USER_FRAME_NATIVE)
		w->top_pc = w->regs.pc;
	int stop = step(w, jvm);
	if (!stop && w->blob.addr == jvm->do_yield && w->yields == 1) {
		w->yields = 2;
		w->top_pc = w->regs.pc;
	}
	return !stop && jvm->barrier && w->regs.pc == jvm->barrier ? walk_barrier(w) : stop;
}
