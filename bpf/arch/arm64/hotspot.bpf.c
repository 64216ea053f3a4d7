// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Frames of a HotSpot code heap on arm64. A frame has x29 and x30 at its upper end. A leaf may have
 * them in registers; the code around its pc shows that. Shapes that are not known end the walk.
 * Part of unwind/walk.h.
 */
#include "hotspot_code.h"
#include "maps.h"
#include "regs.h"
#include "unwind/hotspot_frame.h"

#define STUB_FP_MAX (1ULL << 16) /* distance of fp from sp in a stub with a frame of fp */

/* Reads the instructions around the pc into w->words. Unreadable ones become zeros. */
int walk_read_code(struct walk *w)
{
	if (!w)
		return 0;
	u64 before = w->regs.pc - 4 * PROLOGUE_INSNS;

	if (!walk_read(w->words, sizeof(w->words), before))
		return 0;
	__builtin_memset(w->words, 0, sizeof(w->words));
	walk_read(w->words, 4 * PROLOGUE_INSNS + 32, before);
	return 0;
}

/* In a prologue, by the instructions from the blob's start to the pc. */
int walk_prologue_shape(struct walk *w)
{
	enum shape shape = SHAPE_LINK;

	if (!w)
		return SHAPE_BODY;
	u64 done = (w->regs.pc - blob_code(&w->blob)) / 4;
	for (u32 i = 0; i < PROLOGUE_INSNS; i++) {
		u32 code = insn(w, i);

		if (PROLOGUE_INSNS - i > done)
			continue;
		if (shape == SHAPE_LINK && is_push_record(code))
			shape = SHAPE_AT_SP;
		else if (shape == SHAPE_LINK && is_sub_sp(code))
			shape = SHAPE_MOVED;
		else if ((shape == SHAPE_MOVED && is_store_record(code)) ||
			 (shape == SHAPE_AT_SP && is_sub_sp(code)))
			shape = SHAPE_BODY;
	}
	return shape;
}

/*
 * Whether the code from `at` on returns: before the `ret` there are only instructions that HotSpot
 * puts behind the one that removes the frame.
 */
static __always_inline bool returns(const struct walk *w, u32 at)
{
	for (u32 i = 0; i < EPILOGUE_INSNS; i++) {
		u32 code = insn(w, at + i);

		if (code == RET)
			return true;
		if (!is_before_ret(code))
			return false;
	}
	return false;
}

/* Whether the frame has just been left. */
static __always_inline bool is_behind_frame(const struct walk *w)
{
	for (u32 i = 1; i <= EPILOGUE_INSNS; i++) {
		u32 code = insn(w, PROLOGUE_INSNS - i);

		if (is_add_sp(code) || is_pop_record(code))
			return true;
		if (!is_before_ret(code))
			return false;
	}
	return false;
}

/*
 * The end of the poll stub (17+), which runs after the frame is popped: adr xN; str xN, [x28,
 * #_saved_exception_pc]; b, or adrp; add; br.
 */
static __always_inline bool is_poll_stub(const struct walk *w)
{
	for (u32 i = 0; i <= 4; i++) {
		u32 at = PROLOGUE_INSNS - i;

		if ((insn(w, at) & 0x9f000000) == 0x10000000 &&
		    (insn(w, at + 1) & 0xffc003e0) == 0xf9000380 &&
		    (i < 3 || (insn(w, at + 2) & 0x9f000000) == 0x90000000))
			return true;
	}
	return false;
}

int walk_epilogue_shape(struct walk *w)
{
	if (!w)
		return SHAPE_BODY;
	u32 code = insn(w, PROLOGUE_INSNS);

	if (code == RET || (returns(w, PROLOGUE_INSNS) && is_behind_frame(w)) || is_poll_stub(w))
		return SHAPE_LINK;
	if (is_pop_record(code))
		return SHAPE_AT_SP;
	if (is_add_sp(code) && is_load_record(insn(w, PROLOGUE_INSNS - 1)))
		return SHAPE_MOVED;
	return SHAPE_BODY;
}

/* The record of saved fp and return address at `at`, which ends the frame. */
static __always_inline int step_record(struct walk *w, u32 rule, u64 at)
{
	const u64 *words = walk_stack(w, at, 2);

	if (!words)
		return STAT_UNREADABLE;
	w->regs.fp = words[0];
	return go_on(w, rule, regs_unsigned(words[1]), at + 16);
}

static __always_inline int step_frame_size(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 at = w->regs.sp + w->blob.frame_size * 8LL - 16;
	const u64 *words = walk_stack(w, at, 2);

	if (!words)
		return STAT_UNREADABLE;
	if (!walk_is_code(jvm, regs_unsigned(words[1])))
		return STAT_RETURN_ADDRESS;
	return step_record(w, RULE_FRAME_SIZE, at);
}

/* The return address is in x30: it must follow a call. */
static __always_inline int step_link(struct walk *w, const struct hotspot_layout *jvm, u32 rule,
				     u64 sp)
{
	u64 ra = regs_unsigned(w->regs.lr);

	return walk_is_return_address(jvm, ra) ? go_on(w, rule, ra, sp) : STAT_RETURN_ADDRESS;
}

static __always_inline int step_shape(struct walk *w, const struct hotspot_layout *jvm, int shape)
{
	switch (shape) {
	case SHAPE_LINK:
		return step_link(w, jvm, RULE_LINK, w->regs.sp);
	case SHAPE_MOVED:
		return step_link(w, jvm, RULE_LINK_FRAME, w->regs.sp + w->blob.frame_size * 8LL);
	case SHAPE_AT_SP:
		return step_record(w, RULE_FP_AT_SP, w->regs.sp);
	default:
		return step_frame_size(w, jvm);
	}
}

static __always_inline int step_nmethod(struct walk *w, const struct hotspot_layout *jvm)
{
	const struct blob *b = &w->blob;
	s64 left = b->frame_complete > 0 ? (s64)(blob_code(b) - w->regs.pc) + b->frame_complete : 0;

	/* Method-handle intrinsics have no frame: they end in a jump. */
	if (b->frame_size <= 0)
		return w->is_leaf ? step_link(w, jvm, RULE_LINK, w->regs.sp) : STAT_STUB_FRAME;
	if (!w->is_leaf)
		return step_frame_size(w, jvm);
	return step_shape(w, jvm, left > 0 ? walk_prologue_shape(w) : walk_epilogue_shape(w));
}

static __always_inline bool is_fp_frame(const struct walk *w, u64 bytes)
{
	u64 fp = w->regs.fp;

	return !(fp & 7) && fp - w->regs.sp < bytes;
}

/* A runtime stub with a frame. C1's move sp within it, and have fp at its record. */
static __always_inline int step_stub(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 bytes = w->blob.frame_size * 8ULL, into = w->regs.pc - blob_code(&w->blob);
	int shape = SHAPE_BODY;

	if (w->is_leaf) {
		if (into < 4 * PROLOGUE_INSNS)
			shape = walk_prologue_shape(w);
		if (shape == SHAPE_BODY)
			shape = walk_epilogue_shape(w);
		if (shape == SHAPE_BODY && is_fp_frame(w, bytes))
			return step_record(w, RULE_FP_FRAME, w->regs.fp);
	}
	return step_shape(w, jvm, shape);
}

/*
 * StubRoutines and other buffers. A routine with a frame has fp at its record. In a leaf, x30 shows
 * whether the frame is the routine's own: then the record has the same return address, or x30 lies
 * in the routine, which has called another one.
 */
static __always_inline int step_buffer(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 lr = regs_unsigned(w->regs.lr);
	const u64 *words = is_fp_frame(w, STUB_FP_MAX) ? walk_stack(w, w->regs.fp, 2) : NULL;

	if (!w->is_leaf)
		return words ? step_record(w, RULE_FP_FRAME, w->regs.fp) : STAT_STUB_FRAME;
	if (insn(w, PROLOGUE_INSNS) == RET)
		return step_link(w, jvm, RULE_LINK, w->regs.sp);
	if (words && (regs_unsigned(words[1]) == lr || blob_holds(&w->blob, lr)))
		return step_record(w, RULE_FP_FRAME, w->regs.fp);
	return step_link(w, jvm, RULE_LINK, w->regs.sp);
}

static __always_inline int step_by_class(struct walk *w, const struct hotspot_layout *jvm)
{
	const struct blob *b = &w->blob;

	switch (b->class) {
	case HOTSPOT_CLASS_NMETHOD:
	case HOTSPOT_CLASS_NATIVE:
		return step_nmethod(w, jvm);
	case HOTSPOT_CLASS_BARE: /* adapters move sp */
		return w->is_leaf && b->kind == USER_FRAME_VTABLE
			       ? step_link(w, jvm, RULE_LINK, w->regs.sp)
			       : STAT_STUB_FRAME;
	}
	if (b->frame_size > 0)
		return step_stub(w, jvm);
	return b->frame_size == 0 ? step_buffer(w, jvm) : STAT_STUB_FRAME;
}

int walk_set_frame(struct walk *w)
{
	if (w)
		set_frame(w);
	return 0;
}

int walk_hotspot(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);

	if (!jvm)
		return STAT_NO_JVM;
	if (walk_is_interpreter(jvm, w->regs.pc)) {
		w->frame.info |= (u64)USER_FRAME_INTERPRETER << USER_FRAME_KIND_SHIFT;
		return walk_interpreter(w);
	}
	w->frame.info |= (u64)USER_FRAME_STUB << USER_FRAME_KIND_SHIFT | USER_FRAME_BLOB_MASK;
	u64 pc = w->regs.pc - !w->is_leaf;
	int stop = walk_find_blob(w, pc);
	if (stop)
		return stop;
	set_frame(w);
	/* The code that moves a virtual thread's frames has no rules here. */
	if (pc - jvm->cont_stubs_start < jvm->cont_stubs_end - jvm->cont_stubs_start ||
	    (jvm->do_yield && w->blob.addr == jvm->do_yield))
		return STAT_CONTINUATION;
	if (w->is_leaf)
		walk_read_code(w);
	bool may_be_native = w->regs.pc == jvm->call_stub_return || w->is_leaf;
	stop = step_by_class(w, jvm);
	if (!stop && !may_be_native && !walk_is_code(jvm, w->regs.pc))
		count(STAT_NATIVE_CALLER);
	return stop;
}
