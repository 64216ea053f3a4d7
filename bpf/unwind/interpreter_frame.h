/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames of HotSpot's interpreter: what all processors share. */
#pragma once

#include "unwind/walk.h"

#define SLOTS_BELOW         10           /* words read below fp, in addition to the two above */
#define LAST_SP_SLOT        (-2)         /* sp at a call; 0 while the method itself runs */
#define FP_DISTANCE_MAX     (1ULL << 20) /* from sp to fp: expression stack, monitors */
#define SENDER_DISTANCE_MAX (1ULL << 16) /* from fp to the caller's sp: the locals */

/* The slot `words` from fp; `slots` begins SLOTS_BELOW words below fp. */
static __always_inline u64 slot(const u64 *slots, int words)
{
	return slots[(SLOTS_BELOW + words) & 15];
}

static __always_inline bool is_method(u64 addr)
{
	return addr >= 4096 && !(addr & 7) && addr < 1ULL << USER_ADDRESS_BITS;
}

static __always_inline void set_interpreted(struct walk *w, u64 method, u64 bcp)
{
	u64 flags = w->is_leaf ? USER_FRAME_LEAF : 0;

	w->frame.addr = method;
	w->frame.info = (u64)USER_FRAME_INTERPRETED << USER_FRAME_KIND_SHIFT | flags |
			(bcp & USER_FRAME_BCP_MASK);
}

static __always_inline void leave(struct walk *w, const u64 *slots, u64 sender_sp)
{
	u64 fp = w->regs.fp, distance = sender_sp - fp;

	w->regs.pc = slot(slots, 1);
	w->regs.fp = slot(slots, 0);
	w->regs.sp = distance > 0 && distance <= SENDER_DISTANCE_MAX ? sender_sp : fp + 16;
}

/*
 * Whether the bytecode pointer points into the method's bytecode, as it does while the method runs.
 * It may also point there just after a callee was left; the frame then still has the sp of the
 * call.
 */
static __always_inline bool runs(const struct walk *w, const struct hotspot_layout *jvm,
				 const u64 *slots, u64 method)
{
	u64 const_method;
	u16 size;

	if (!slots || slot(slots, LAST_SP_SLOT))
		return false;
	if (!is_method(method) || walk_read(&const_method, 8, method + jvm->const_method) ||
	    walk_read(&size, sizeof(size), const_method + jvm->code_size))
		return false;
	return w->regs.REG_BCP - (const_method + jvm->bytecode) <= size;
}

/*
 * Deoptimisation first makes linked frames and then fills them in. Until then their methods are
 * unknown (DeoptimizationBlob, Deoptimization::unpack_frames).
 */
static __always_inline bool is_unpacked(const struct walk *w, const struct hotspot_layout *jvm,
					const u64 *slots)
{
	return (w->callee_kind == USER_FRAME_STUB || w->callee_kind == USER_FRAME_INTERPRETER) &&
	       walk_is_return_address(jvm, slot(slots, 1));
}
