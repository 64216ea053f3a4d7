/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames of a HotSpot code heap: what all processors share. */
#pragma once

#include "unwind/walk.h"

static __always_inline int go_on(struct walk *w, u32 rule, u64 pc, u64 sp)
{
	w->rule = rule;
	w->regs.pc = pc;
	w->regs.sp = sp;
	return 0;
}

/*
 * Deoptimisation replaces the return address by that of a handler in the same nmethod, and keeps
 * the real pc in the frame. Restore the real pc. The frame's size does not change.
 */
static __always_inline void undo_deopt(struct walk *w)
{
	const struct blob *b = &w->blob;
	u64 off = w->regs.pc - b->addr;

	if (w->is_leaf || !b->orig_pc || (off != b->deopt && off != b->deopt_mh))
		return;
	const u64 *pc = walk_stack(w, w->regs.sp + b->orig_pc, 1);
	if (pc && blob_holds(b, *pc))
		w->frame.addr = *pc;
}

static __always_inline void set_frame(struct walk *w)
{
	const struct blob *b = &w->blob;
	u64 offset;

	if (b->class == HOTSPOT_CLASS_NMETHOD)
		undo_deopt(w);
	offset = w->frame.addr - b->addr;
	if (offset > USER_FRAME_BLOB_MASK)
		offset = USER_FRAME_BLOB_MASK;
	w->frame.info = (u64)b->kind << USER_FRAME_KIND_SHIFT | (w->is_leaf ? USER_FRAME_LEAF : 0) |
			(b->compile_id & USER_FRAME_ID_MASK) << USER_FRAME_ID_SHIFT | offset;
}
