// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Frames of HotSpot's template interpreter: fixed slots around fp (cpu/x86/frame_x86.hpp). The
 * slots that no table exports come with the layout, for JDK 9 moved the bytecode pointer.
 */
#include "maps.h"

#define SLOTS_BELOW         10           /* words read below fp, and the two above */
#define FP_DISTANCE_MAX     (1ULL << 20) /* of fp above sp: expression stack, monitors */
#define SENDER_DISTANCE_MAX (1ULL << 16) /* of the caller's sp above fp: the locals */

static __always_inline u64 slot(const struct walk *w, int words)
{
	return w->words[(SLOTS_BELOW + words) & (WALK_WORDS - 1)];
}

static __always_inline bool is_method(u64 addr)
{
	return addr >= 4096 && !(addr & 7) && addr < 1ULL << 47;
}

static __always_inline void set_interpreted(struct walk *w, u64 method, u64 bcp)
{
	u64 flags = w->is_leaf ? USER_FRAME_LEAF : 0;

	w->frame.addr = method;
	w->frame.info = (u64)USER_FRAME_INTERPRETED << USER_FRAME_KIND_SHIFT | flags |
			(bcp & USER_FRAME_BCP_MASK);
}

static __always_inline void leave(struct walk *w, u64 sender_sp)
{
	u64 fp = w->regs.fp, distance = sender_sp - fp;

	w->regs.pc = slot(w, 1);
	w->regs.fp = slot(w, 0);
	w->regs.sp = distance > 0 && distance <= SENDER_DISTANCE_MAX ? sender_sp : fp + 16;
}

/*
 * In a method entry the frame grows word by word: return address, fp, sender sp, last sp, and
 * only then the Method, which until then is in rbx. r13 is the sender sp before it is pushed.
 */
static __always_inline int step_entry(struct walk *w)
{
	u64 sender_sp = w->regs.fp == w->regs.sp ? w->regs.r13 : slot(w, -1);

	if (!is_method(w->regs.bx))
		return STAT_INTERPRETER_FRAME;
	set_interpreted(w, w->regs.bx, 0);
	w->rule = RULE_INTERPRETER_ENTRY;
	leave(w, sender_sp);
	return 0;
}

/*
 * Before a method entry sets up its frame, fp is the caller's, and a compiled caller uses it for
 * something else. The return address is at sp, or has just been popped to rax; r13 is the caller's
 * sp, for adapters and the locals move it.
 */
static __always_inline int step_before_entry(struct walk *w, const struct hotspot_layout *jvm)
{
	if (!w->is_leaf || !is_method(w->regs.bx))
		return STAT_INTERPRETER_FRAME;
	if (walk_read(w->words, 8, w->regs.sp))
		return STAT_UNREADABLE;

	u64 ra = w->words[0], up = w->regs.r13 - w->regs.sp;
	if (!walk_is_return_address(jvm, ra))
		ra = w->regs.ax;
	if (up > SENDER_DISTANCE_MAX || !walk_is_return_address(jvm, ra))
		return STAT_INTERPRETER_FRAME;
	set_interpreted(w, w->regs.bx, 0);
	w->rule = RULE_INTERPRETER_ENTRY;
	w->regs.pc = ra;
	w->regs.sp = w->regs.r13;
	return 0;
}

int walk_interpreter(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	u32 index = w->proc.jvm;
	const struct hotspot_layout *jvm = bpf_map_lookup_elem(&jvms, &index);

	if (!jvm)
		return STAT_NO_JVM;
	u64 fp = w->regs.fp, above = fp - w->regs.sp;
	if (fp & 7 || above > FP_DISTANCE_MAX)
		return step_before_entry(w, jvm);
	if (walk_read(w->words, (SLOTS_BELOW + 2) * 8, fp - SLOTS_BELOW * 8))
		return STAT_UNREADABLE;
	if (w->is_leaf && above <= 16)
		return step_entry(w);

	u64 method = slot(w, jvm->method_slot);
	if (!is_method(method))
		return STAT_INTERPRETER_FRAME;
	/* Before a call the interpreter saves its bytecode pointer; a leaf's is in r13. */
	set_interpreted(w, method, w->is_leaf ? w->regs.r13 : slot(w, jvm->bcp_slot));
	w->rule = RULE_INTERPRETER;
	leave(w, slot(w, jvm->sender_sp_slot));
	return 0;
}
