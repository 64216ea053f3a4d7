// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Frames of HotSpot's template interpreter on arm64: fixed slots around fp (cpu/aarch64/
 * frame_aarch64.hpp). A leaf's frame counts only while its method runs: frames that are being built
 * or left end the walk. Part of unwind/walk.h.
 */
#include "maps.h"
#include "regs.h"
#include "unwind/interpreter_frame.h"

int walk_interpreter(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	u64 fp = w->regs.fp;

	if (!jvm)
		return STAT_NO_JVM;
	if (fp & 7 || fp - w->regs.sp > FP_DISTANCE_MAX)
		return STAT_INTERPRETER_FRAME;
	const u64 *slots = walk_stack(w, fp - SLOTS_BELOW * 8, SLOTS_BELOW + 2);
	if (!slots)
		return STAT_UNREADABLE;
	u64 method = slot(slots, jvm->method_slot);
	bool is_known = w->is_leaf ? runs(w, jvm, slots, method) : is_method(method);

	if (is_known)
		set_interpreted(w, method,
				w->is_leaf ? w->regs.REG_BCP : slot(slots, jvm->bcp_slot));
	else if (w->is_leaf || !is_unpacked(w, jvm, slots))
		return STAT_INTERPRETER_FRAME;
	w->rule = is_known ? RULE_INTERPRETER : RULE_INTERPRETER_ENTRY;
	leave(w, slots, slot(slots, jvm->sender_sp_slot));
	w->regs.pc = regs_unsigned(w->regs.pc);
	return 0;
}
