// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One step of a walk: classifies the pc and finds the caller by the rules for it. Part of
 * unwind/walk.h and unwind/unwind.h.
 */
#include "maps.h"
#include "unwind/unwind.h"

#define RANGE_STEPS 20   /* of a binary search: a million ranges per process */
#define PC_MIN      4096 /* no code below this */
#define PAGE_BYTES  4096

static __always_inline bool holds(const struct unwind_range *r, u64 addr)
{
	return addr - r->start < r->end - r->start;
}

int walk_find_range(struct walk *w, u64 addr)
{
	if (!w)
		return 0;
	if (holds(&w->range, addr))
		return 1;

	u32 first = w->proc.first_range, lo = first, hi = first + w->proc.nr_ranges;
	for (u32 i = 0; i < RANGE_STEPS && lo < hi; i++) {
		u32 mid = lo + (hi - lo) / 2;
		const struct unwind_range *r = bpf_map_lookup_elem(&unwind_ranges, &mid);

		if (!r)
			return 0;
		if (r->start > addr) {
			hi = mid;
		} else if (addr >= r->end) {
			lo = mid + 1;
		} else {
			w->range = *r;
			return 1;
		}
	}
	return 0;
}

int walk_move_window(struct walk *w, u64 at, u64 nr)
{
	u64 bytes = sizeof(w->window);

	if (!w)
		return -1;
	w->window_at = at;
	if (walk_read(w->window, bytes, at)) { /* usually the stack's end */
		bytes = (PAGE_BYTES - at % PAGE_BYTES) & (sizeof(w->window) - 8);
		if (walk_read(w->window, bytes, at))
			bytes = 0;
	}
	w->window_words = bytes / 8;
	return w->window_words < nr;
}

/* A cached blob avoids the search of heaps. The interpreter's code never changes. */
static __always_inline bool is_in_code_heap(struct walk *w, u64 addr)
{
	const struct hotspot_layout *jvm = walk_jvm(w);

	return jvm && walk_is_code(jvm, addr) &&
	       (walk_is_interpreter(jvm, addr) || walk_recall_blob(w, addr) ||
		walk_heap(jvm, addr));
}

/* Whether native code has no rule for its caller, or a wrong one. */
static __always_inline bool is_native_gap(int stop)
{
	return stop == STAT_NO_ROW || stop == STAT_ROW_UNSUPPORTED || stop == STAT_ROW_REGISTER ||
	       stop == STAT_BAD_CFA;
}

static __always_inline int find_native_caller(struct walk *w)
{
	int stop = walk_native(w);

	return is_native_gap(stop) && w->proc.jvm != UNWIND_NO_JVM && walk_last_java_frame(w)
		       ? 0
		       : stop;
}

static __always_inline int find_caller(struct walk *w)
{
	w->rule = RULE_NONE;
	w->frame.addr = w->regs.pc;
	w->frame.info = w->is_leaf ? USER_FRAME_LEAF : 0;
	if (w->regs.pc < PC_MIN)
		return STAT_NULL_PC;
	return is_in_code_heap(w, w->regs.pc - !w->is_leaf) ? walk_hotspot(w)
							    : find_native_caller(w);
}

/*
 * Whether the walk has reached the end of a stack that the program made itself (goroutines, fibers,
 * coroutines): the return address is 0. After a rule that only guesses, a 0 means nothing. JVMs
 * have no such stacks: theirs must reach the thread's start.
 */
static __always_inline bool is_end(const struct walk *w)
{
	return !w->is_leaf && !w->regs.pc && w->proc.jvm == UNWIND_NO_JVM &&
	       (w->rule == RULE_ROW_SP || w->rule == RULE_ROW_FP);
}

/* Whether the caller's sp is above the callee's `sp`, as it must be. */
static __always_inline bool has_moved_on(const struct walk *w, u64 sp)
{
	if (w->rule == RULE_ROW_SWITCH || w->rule == RULE_CHUNK)
		return true;
	if (w->regs.sp == sp) /* a leaf may have its return address in a register */
		return w->is_leaf || w->rule == RULE_CONTINUATION;
	return w->regs.sp > sp;
}

/*
 * Ends the walk at the thread's root. A stack that lacks callers before the root is not complete.
 */
static __always_inline int root(const struct walk *w)
{
	return w->is_frozen ? STAT_FROZEN : STAT_ROOT;
}

int unwind_step(struct scratch *s)
{
	if (!s)
		return STAT_NO_SCRATCH;
	struct walk *w = &s->walk;
	u64 sp = w->regs.sp;

	if (is_end(w))
		return root(w);
	int stop = w->chunk_end ? walk_chunk(w) : find_caller(w);
	/* Not in walk_barrier: Linux 6.1 allows eight calls 512 bytes of stack together. */
	if (w->at_barrier && !stop)
		walk_enter_chunks(w);
	w->at_barrier = 0;

	/*
	 * A wrong frame is worse than a missing one: drop a pc in no mapping, except for the leaf.
	 */
	if ((stop == STAT_NO_MAPPING || stop == STAT_NULL_PC) && !w->is_leaf)
		return stop;
	if (stack_push(s, w->frame.addr, w->frame.info))
		return STAT_DEPTH;
	if (stop)
		return stop == STAT_ROOT ? root(w) : stop;
	w->callee_kind = w->frame.info >> USER_FRAME_KIND_SHIFT;
	if (w->marker) {
		if (w->marker == USER_FRAME_FROZEN)
			w->is_frozen = 1;
		else
			count(STAT_NATIVE_GAP);
		stack_push(s, 0, (u64)w->marker << USER_FRAME_KIND_SHIFT);
		w->marker = 0;
	}
	if (w->rule == RULE_ROW_SIGNAL)
		w->is_leaf = 1; /* and may continue on another stack */
	else if (!has_moved_on(w, sp))
		return STAT_LOOP;
	else
		w->is_leaf = 0;
	return 0;
}

__hidden u32 unwind_walk(struct scratch *s)
{
	struct walk *w = &s->walk;

	w->is_leaf = 1;
	w->callee_kind = USER_FRAME_NATIVE;
	w->marker = 0;
	w->is_frozen = 0;
	w->yields = 0;
	w->top_pc = 0;
	w->thaw_sp = 0;
	w->chunk_end = 0;
	w->at_barrier = 0;
	w->range.start = w->range.end = 0;
	w->blob.code_start = w->blob.code_end = 0;
	w->window_words = 0;
	for (u32 i = 0; i < ABI_USER_FRAMES + 1; i++) {
		u32 stop = unwind_step(s);

		if (stop)
			return stop;
	}
	return STAT_DEPTH;
}
