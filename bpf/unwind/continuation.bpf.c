// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Places on the stack that a JavaThread points to.
 *
 * Finds the border between a virtual thread's frames and those of its carrier: the
 * ContinuationEntry in the frame of Continuation.enterSpecial, which the carrier's JavaThread
 * points to. See docs/unwinding.md. Part of unwind/walk.h.
 *
 * The stack of a carrier whose virtual thread has been thawed, innermost frame first:
 *
 *	Socket.read                  the few frames that thaw put back
 *	Handler.handle               returns to the return barrier
 *	    (stack arguments)
 *	Continuation.enterSpecial    its frame is the ContinuationEntry; sp of the border
 *	Continuation.run             the carrier's frames
 *	ForkJoinWorkerThread.run
 *
 * Handler.run, which called Handler.handle, is still on the heap: the walk marks it as frozen and
 * goes on at enterSpecial. When Handler.handle returns, the barrier thaws Handler.run in its place.
 * A sample in between sees a stub whose frame has neither a fixed size nor a usable fp; only the
 * entry that JavaThread::_cont_entry names is at a known place then.
 */
#include "maps.h"

#define DTV_ENTRY_BYTES 16 /* dtv_t */
#define ENTRY_PARENT    8  /* ContinuationEntry::_parent (JDK 21 to 28) */
#define NESTED_MAX      4  /* nesting depth of continuations; the JDK itself nests one */
#define STACK_BYTES_MAX (1ULL << 30)
#define ARGUMENT_BYTES  4096 /* between a continuation's bottom frame and its entry: 255 words */

struct java_anchor { /* JavaFrameAnchor */
	u64 sp, pc, fp;
};

/* Thread::current() of libjvm; 0 if unknown. */
static __always_inline u64 current_java_thread(const struct walk *w,
					       const struct hotspot_layout *jvm)
{
	u64 dtv, block = w->tls, thread;

	if (!jvm->tls_module || !w->tls)
		return 0;
	if (jvm->tls_module != HOTSPOT_TLS_POINTER &&
	    (walk_read(&dtv, 8, w->tls + DTV_SLOT) ||
	     walk_read(&block, 8, dtv + DTV_ENTRY_BYTES * (u64)jvm->tls_module)))
		return 0;
	return walk_read(&thread, 8, block + jvm->tls_offset) ? 0 : thread;
}

/* The innermost ContinuationEntry at or above sp; 0 if unknown. */
static __always_inline u64 find_entry(const struct walk *w, const struct hotspot_layout *jvm)
{
	u64 sp = w->regs.sp, thread = current_java_thread(w, jvm), entry = 0;

	if (!thread || walk_read(&entry, 8, thread + jvm->cont_entry))
		return 0;
	for (u32 i = 0; i < NESTED_MAX && entry && entry < sp; i++)
		if (walk_read(&entry, 8, entry + ENTRY_PARENT))
			return 0;
	return entry - sp < STACK_BYTES_MAX && !(entry & 7) ? entry : 0;
}

static __always_inline int go_on_at(struct walk *w, const struct hotspot_layout *jvm, u64 entry)
{
	w->rule = RULE_CONTINUATION;
	w->marker = USER_FRAME_FROZEN;
	w->regs.pc = jvm->enter_special_return;
	w->regs.sp = entry;
	return 0;
}

/*
 * When thaw has put the frames back of a thread that had waited for a monitor, it notes the last
 * one in the anchor and reports that the thread has the monitor (jvmti_mount_end of
 * runtime/continuationFreezeThaw.cpp, JDK 24). Otherwise thaw has no anchor.
 */
static __always_inline bool go_on_at_anchor(struct walk *w, const struct hotspot_layout *jvm,
					    u64 entry)
{
	struct java_anchor last;
	u64 thread = jvm->anchor != HOTSPOT_NO_FIELD ? current_java_thread(w, jvm) : 0;

	if (!thread || walk_read(&last, sizeof(last), thread + jvm->anchor) || last.sp & 7 ||
	    last.sp <= w->regs.sp || last.sp >= entry)
		return false;
	if (!last.pc && walk_read(&last.pc, 8, last.sp - 8))
		return false;
	if (!walk_is_code(jvm, last.pc))
		return false;
	w->rule = RULE_LAST_JAVA_FRAME;
	w->regs.pc = last.pc;
	w->regs.sp = last.sp;
	w->regs.fp = last.fp;
	return true;
}

/*
 * Whether a freeze by doYield has not begun to write into the chunks. It first sets the anchor from
 * doYield's frame to the entry (FreezeBase::unwind_frames).
 */
static __always_inline bool is_before_freeze(struct walk *w, const struct hotspot_layout *jvm,
					     u64 entry)
{
	u64 thread = jvm->anchor != HOTSPOT_NO_FIELD ? current_java_thread(w, jvm) : 0, sp = 0;

	return thread && !walk_read(&sp, sizeof(sp), thread + jvm->anchor) && sp && sp < entry;
}

/*
 * The stubs that move frames between stack and heap have frames of variable size. Their fp may
 * belong to the thread that ran the continuation before.
 */
int walk_continuation(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm || !jvm->enter_special_return)
		return STAT_CONTINUATION;

	/*
	 * The frames are frozen: only the entry is left on the stack, and it is about to be popped.
	 */
	if (w->is_leaf && walk_is_popped(w, jvm)) {
		w->entry = w->regs.sp;
		w->at_barrier = 1;
		return go_on_at(w, jvm, w->regs.sp);
	}
	u64 entry = find_entry(w, jvm);
	if (entry && go_on_at_anchor(w, jvm, entry))
		return 0;
	if (!entry)
		return STAT_CONTINUATION;
	if (!w->is_leaf) {
		w->thaw_sp = w->regs.sp;
		w->entry = entry;
		w->at_barrier = 1;
	}
	return go_on_at(w, jvm, entry);
}

/*
 * The previous frame was a continuation's last one on the stack; its caller is on the heap. Stack
 * arguments may lie between the frame and the entry.
 */
int walk_barrier(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	u32 rule = w->rule;
	if (!jvm || !jvm->enter_special_return)
		return STAT_CONTINUATION;

	u64 entry = jvm->tls_module ? find_entry(w, jvm) : w->regs.sp;
	if (!entry || entry - w->regs.sp > ARGUMENT_BYTES)
		return STAT_CONTINUATION;
	go_on_at(w, jvm, entry);
	w->rule = rule;
	w->entry = entry;
	w->at_barrier = 1;
	if (w->yields && is_before_freeze(w, jvm, entry))
		w->top_pc = 0;
	return 0;
}

/*
 * HotSpot notes the last Java frame of a thread that has left Java (JavaFrameAnchor). If the pc is
 * not noted, it is the return address below sp. Java frames that began later have no anchor; theirs
 * lies below this frame.
 */
int walk_last_java_frame(struct walk *w)
{
	struct java_anchor last;

	if (!w)
		return 0;
	const struct hotspot_layout *jvm = walk_jvm(w);
	u64 thread = jvm && jvm->anchor != HOTSPOT_NO_FIELD ? current_java_thread(w, jvm) : 0;
	if (!thread || walk_read(&last, sizeof(last), thread + jvm->anchor) || last.sp & 7 ||
	    last.sp <= w->regs.sp || last.sp - w->regs.sp > STACK_BYTES_MAX)
		return 0;
	if (!last.pc && walk_read(&last.pc, 8, last.sp - 8))
		return 0;
	if (!walk_is_code(jvm, last.pc))
		return 0;
	w->rule = RULE_LAST_JAVA_FRAME;
	w->marker = USER_FRAME_SKIPPED;
	w->regs.pc = last.pc;
	w->regs.sp = last.sp;
	w->regs.fp = last.fp;
	return 1;
}
