// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Frames of a mounted virtual thread that lie on the Java heap, in StackChunks. See
 * docs/unwinding.md. Part of unwind/walk.h.
 *
 * The walk goes on in the chunk as on a stack, and then at the ContinuationEntry:
 *
 *	stack                          heap
 *	Socket.read
 *	Handler.handle, returns to
 *	the barrier          ------->  Handler.run          sp of the chunk
 *	                               VirtualThread.run
 *	Continuation.enterSpecial <--  Continuation.enter   bottom of the chunk
 *
 * Words of interpreted frames that would be addresses are relative there: the saved fp to its own
 * place, sender sp and locals to fp. regs.fp is the address of the saved fp of the frame that is
 * next (runtime/stackChunkFrameStream.inline.hpp, cpu/x86/continuationFreezeThaw_x86.inline.hpp).
 */
#include "maps.h"
#include "unwind/walk.h"

#define CHUNKS_MAX         4  /* in a row, those that are empty included */
#define ENTRY_CONTINUATION 16 /* ContinuationEntry::_cont (JDK 21 to 28) */
#define LINK_BYTES         16 /* saved fp and return address, below a frame */
#define PREPARE_BYTES      32 /* most that the thaw stubs have on the stack before they make room */
#define THAW_WORDS         4  /* thaw_size() of runtime/continuationFreezeThaw.cpp (JDK 21 to 28) */
#define RESULT_BYTES       32 /* of a method that returned to the barrier, aligned */
#define TAKEN_WORDS_MAX    500 /* of a chunk that thaw takes as a whole */
#define UNREADABLE         1   /* no object has this address */
#define COLOR_BITS         16
#define MARK_FORWARDED     3ULL
#define CHUNK_SLOTS        8
#define CHUNK_LOCALS       (-7)
#define CHUNK_WORDS_MAX    (1 << 24)

/*
 * The address in a reference of ZGC. A reference that is stale in the current phase
 * may point to a page that has other objects by now. The JVM corrects it before it uses it.
 */
static __always_inline u64 read_color(const struct hotspot_layout *jvm, u64 value)
{
	u64 bad = 0;

	if (value < 1 << COLOR_BITS) /* null may have a stale color, too */
		return 0;
	if (walk_read(&bad, sizeof(bad), jvm->chunk.bad_colors) || value & bad)
		return UNREADABLE;
	if (jvm->chunk.is_viewed)
		return value;
	return value & 1 << 12   ? value >> 13
	       : value & 1 << 13 ? value >> 14
	       : value & 1 << 14 ? value >> 15
				 : value >> COLOR_BITS;
}

/*
 * Sets w->object to the object at `addr`, or to its new copy: Shenandoah leaves an old one behind
 * until all references are corrected.
 */
int walk_find_object(struct walk *w, u64 addr)
{
	u64 mark = 0;

	if (!w)
		return 0;
	w->object = addr;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm || !jvm->chunk.is_forwarded || !addr)
		return 0;
	if (walk_read(&mark, sizeof(mark), addr))
		w->object = UNREADABLE;
	else if ((mark & MARK_FORWARDED) == MARK_FORWARDED)
		w->object = mark & ~MARK_FORWARDED;
	return 0;
}

/* Sets w->object to the object that the reference at `addr` points to; 0: null; UNREADABLE. */
int walk_follow(struct walk *w, u64 addr)
{
	u64 value = 0;

	if (!w)
		return 0;
	const struct hotspot_layout *jvm = walk_jvm(w);
	w->object = UNREADABLE;
	if (!jvm || walk_read(&value, jvm->chunk.reference_bytes == 8 ? 8 : 4, addr))
		return 0;
	if (jvm->chunk.bad_colors) {
		w->object = read_color(jvm, value);
		return 0;
	}
	if (value && jvm->chunk.reference_bytes != 8)
		value = jvm->chunk.narrow_base + (value << (jvm->chunk.narrow_shift & 7));
	return walk_find_object(w, value);
}

static __always_inline bool is_chunk(const struct hotspot_layout *jvm, u64 object)
{
	u64 class = 0;

	if (object & 7 ||
	    walk_read(&class, jvm->chunk.class_bytes == 4 ? 4 : 8, object + jvm->chunk.class_at))
		return false;
	return class >> (jvm->chunk.class_shift & 63) == jvm->chunk.class;
}

/* A number of words in a chunk. */
static __always_inline u32 read_words(u64 chunk, u16 at)
{
	u32 value = 0;

	return walk_read(&value, sizeof(value), chunk + at) ? 0 : value;
}

/*
 * Moves the walk to the first frame of the next chunk that has one, from w->object on. Returns 1; 0
 * if all chunks are empty, or a negative number if a chunk cannot be read.
 */
int walk_next_chunk(struct walk *w)
{
	if (!w)
		return -1;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm)
		return -1;

	for (u32 i = 0; i < CHUNKS_MAX && w->object; i++) {
		const struct hotspot_chunk *c = &jvm->chunk;
		u64 chunk = w->object;
		if (!is_chunk(jvm, chunk))
			return -1;
		u32 sp = read_words(chunk, c->sp);
		u32 end = c->end != HOTSPOT_NO_FIELD
				  ? read_words(chunk, c->end)
				  : read_words(chunk, c->size) - read_words(chunk, c->arguments);
		if (end > CHUNK_WORDS_MAX || sp > end)
			return -1;
		if (sp < end) {
			w->chunk = chunk;
			w->chunk_end = chunk + c->stack + 8ULL * end;
			w->regs.sp = chunk + c->stack + 8ULL * sp;
			w->regs.fp = w->regs.sp - LINK_BYTES;
			w->window_words = 0;
			if (walk_read(&w->regs.pc, 8, w->regs.sp - 8) ||
			    !walk_is_code(jvm, w->regs.pc))
				return -1;
			return 1;
		}
		walk_follow(w, chunk + c->parent);
	}
	return w->object ? -1 : 0;
}

/* Back to the stack. */
static __always_inline int leave_chunks(struct walk *w, const struct hotspot_layout *jvm,
					u32 marker)
{
	w->rule = RULE_CHUNK;
	w->marker = marker;
	w->chunk_end = 0;
	w->regs.pc = jvm->enter_special_return;
	w->regs.sp = w->entry;
	return 0;
}

/* The frame at which the chunks cannot be followed any more is the marker. */
static __always_inline int lose_chunks(struct walk *w, const struct hotspot_layout *jvm)
{
	w->frame.addr = 0;
	w->frame.info = (u64)USER_FRAME_FROZEN << USER_FRAME_KIND_SHIFT;
	w->is_frozen = 1;
	return leave_chunks(w, jvm, 0);
}

/*
 * Whether thaw has not yet taken frames from the chunk that it is called for. The stubs first call
 * prepare_thaw, then make room on the stack for what the chunk holds at most (thaw_size of
 * runtime/continuationFreezeThaw.cpp), and call thaw:
 *
 *	entry       entry of the continuation
 *	            room for the frames of the chunk
 *	            a result, if a method has returned to the barrier
 *	thaw_sp     sp of the stub
 *
 * When thaw takes frames, it first lowers that number in the chunk.
 */
static __always_inline bool is_before_thaw(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 entry = w->entry, pc = 0;
	u32 words = 0;

	if (entry - w->thaw_sp <= PREPARE_BYTES)
		return true;
	if (jvm->chunk.max_thawing == HOTSPOT_NO_FIELD || jvm->chunk.pc == HOTSPOT_NO_FIELD ||
	    walk_read(&words, sizeof(words), w->chunk + jvm->chunk.max_thawing) ||
	    walk_read(&pc, sizeof(pc), w->chunk + jvm->chunk.pc) || pc != w->regs.pc)
		return false;
	u64 room = (entry - 8 * ((u64)words + THAW_WORDS)) & ~15ULL;
	return w->thaw_sp == room || w->thaw_sp == room - RESULT_BYTES;
}

/*
 * thaw declares a chunk of compiled frames empty before it copies all of them. Until the stub
 * returns, the chunk has them still: its size is the sum of theirs, and it names the pc of the
 * first. Moves the walk there; returns whether it could.
 */
int walk_find_taken(struct walk *w)
{
	u64 pc = 0, found = 0;

	if (!w)
		return 0;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm || jvm->chunk.pc == HOTSPOT_NO_FIELD || jvm->chunk.end == HOTSPOT_NO_FIELD ||
	    !is_chunk(jvm, w->object) || walk_read(&pc, sizeof(pc), w->object + jvm->chunk.pc))
		return 0;
	u32 end = read_words(w->object, jvm->chunk.end);
	u32 size = read_words(w->object, jvm->chunk.size);
	if (end != read_words(w->object, jvm->chunk.sp) || !walk_is_code(jvm, pc))
		return 0;
	u64 room = (w->entry - w->thaw_sp) / 8 - THAW_WORDS;
	for (u32 i = 0; i < 6; i++) { /* aligned: 0 or 1 word more, with a result 4 or 5 */
		keep_as_written(i);
		u64 sp = size - (room - i);
		if (i == 2 || i == 3 || sp >= end || room - i > TAKEN_WORDS_MAX)
			continue;
		w->regs.sp = w->object + jvm->chunk.stack + 8 * sp;
		if (walk_read(&found, sizeof(found), w->regs.sp - 8) || found != pc)
			continue;
		w->regs.pc = pc;
		w->regs.fp = w->regs.sp - LINK_BYTES;
		w->chunk = w->object;
		w->chunk_end = w->object + jvm->chunk.stack + 8ULL * end;
		w->window_words = 0;
		return 1;
	}
	return 0;
}

/*
 * thaw takes one or two frames of a chunk with interpreted ones (thaw_slow). Before it copies them,
 * it moves the chunk's sp behind them and lowers the number of words to thaw by theirs. The room on
 * the stack shows how many there were, and the frames are still in the chunk. Moves the walk there;
 * returns whether it could.
 */
int walk_find_moved(struct walk *w)
{
	u32 words = 0;
	u64 pc = 0;

	if (!w)
		return 0;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm || jvm->chunk.max_thawing == HOTSPOT_NO_FIELD ||
	    walk_read(&words, sizeof(words), w->chunk + jvm->chunk.max_thawing))
		return 0;
	u64 taken = (w->entry - w->thaw_sp) / 8 - THAW_WORDS - words;
	for (u32 i = 0; i < 6; i++) { /* as in walk_find_taken */
		keep_as_written(i);
		u64 sp = w->regs.sp - 8 * (taken - i);
		if (i == 2 || i == 3 || taken - i - 1 >= TAKEN_WORDS_MAX ||
		    sp < w->chunk + jvm->chunk.stack + LINK_BYTES ||
		    walk_read(&pc, sizeof(pc), sp - 8) || !walk_is_code(jvm, pc))
			continue;
		w->regs.sp = sp;
		w->regs.pc = pc;
		w->regs.fp = sp - LINK_BYTES;
		w->window_words = 0;
		return 1;
	}
	return 0;
}

/*
 * Moves a walk that has crossed the return barrier, or stubs that move frames, into the chunks of
 * the continuation of w->entry. Returns 1, or 0 with pc, sp and fp as before: the walk then goes on
 * at the entry. It does so if no chunk has a frame, or if the chunk may hold frames that the walk
 * already found on the stack:
 *
 *	stack: Cart.add, handle      chunk: run                      before the freeze
 *	stack: Cart.add, handle      chunk: Cart.add, handle, run    libjvm has copied both frames
 *	stack: enterSpecial          chunk: Cart.add, handle, run    the freeze has ended
 *
 * In the second state a walk must not enter. The chunk then begins with the frame that called
 * doYield, or with the stack's first Java frame if libjvm freezes a thread that it preempts at a
 * monitor (w->top_pc). While libjvm copies, the old first frame may for a moment return to the
 * barrier.
 */
int walk_enter_chunks(struct walk *w)
{
	u64 cont = 0;

	if (!w)
		return 0;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm || !jvm->chunk.reference_bytes ||
	    walk_read(&cont, sizeof(cont), w->entry + ENTRY_CONTINUATION) || !cont)
		return 0;

	u64 sp = w->regs.sp, fp = w->regs.fp, pc = w->regs.pc;
	walk_find_object(w, cont);
	walk_follow(w, w->object + jvm->chunk.tail);
	int found = w->thaw_sp && walk_find_taken(w);
	bool is_whole = found || !w->thaw_sp;
	if (!found)
		found = walk_next_chunk(w);
	if (found > 0 && w->regs.pc != w->top_pc && w->regs.pc != jvm->barrier &&
	    (is_whole || is_before_thaw(w, jvm) || walk_find_moved(w))) {
		w->rule = RULE_CHUNK;
		w->marker = 0;
		return 1;
	}
	w->chunk_end = 0;
	w->regs.sp = sp;
	w->regs.fp = fp;
	w->regs.pc = pc;
	return 0;
}

static __always_inline int end_chunk(struct walk *w, const struct hotspot_layout *jvm)
{
	walk_follow(w, w->chunk + jvm->chunk.parent);
	int found = walk_next_chunk(w);
	if (found <= 0)
		return leave_chunks(w, jvm, found ? USER_FRAME_FROZEN : 0);
	w->rule = RULE_CHUNK;
	return 0;
}

static __always_inline int chunk_interpreted(struct walk *w, const struct hotspot_layout *jvm)
{
	u64 fp = 0, end = w->chunk_end;

	if (walk_read(&fp, sizeof(fp), w->regs.fp))
		return lose_chunks(w, jvm);
	fp = w->regs.fp + 8 * fp;
	if (fp <= w->regs.fp || fp >= end || fp & 7 ||
	    walk_read(w->words, (CHUNK_SLOTS + 2) * 8, fp - CHUNK_SLOTS * 8))
		return lose_chunks(w, jvm);
	u64 method = w->words[CHUNK_SLOTS - 3];
	if (method < 4096 || method & 7)
		return lose_chunks(w, jvm);
	w->frame.addr = method;
	w->frame.info = (u64)USER_FRAME_INTERPRETED << USER_FRAME_KIND_SHIFT |
			(w->words[0] & USER_FRAME_BCP_MASK);
	if (fp + 8 * (w->words[CHUNK_SLOTS + CHUNK_LOCALS] + 1) >= end)
		return end_chunk(w, jvm);
	w->regs.pc = w->words[CHUNK_SLOTS + 1];
	w->regs.sp = fp + 8 * w->words[CHUNK_SLOTS - 1];
	w->regs.fp = fp;
	return 0;
}

static __always_inline int chunk_compiled(struct walk *w, const struct hotspot_layout *jvm)
{
	if (walk_find_blob(w, w->regs.pc - 1))
		return lose_chunks(w, jvm);
	walk_set_frame(w);
	if (w->blob.frame_size <= 0)
		return leave_chunks(w, jvm, USER_FRAME_FROZEN);
	u64 cfa = w->regs.sp + 8LL * w->blob.frame_size;
	if (cfa + LINK_BYTES >= w->chunk_end)
		return end_chunk(w, jvm);
	if (walk_read(&w->regs.pc, 8, cfa - 8))
		return leave_chunks(w, jvm, USER_FRAME_FROZEN);
	w->regs.sp = cfa;
	w->regs.fp = cfa - LINK_BYTES;
	return 0;
}

int walk_chunk(struct walk *w)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm)
		return STAT_NO_JVM;

	w->rule = RULE_CHUNK_FRAME;
	w->frame.addr = w->regs.pc;
	w->frame.info = 0;
	return walk_is_interpreter(jvm, w->regs.pc) ? chunk_interpreted(w, jvm)
						    : chunk_compiled(w, jvm);
}
