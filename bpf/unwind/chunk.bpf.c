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
#define CHUNK_SLOTS        8
#define CHUNK_LOCALS       (-7)
#define CHUNK_WORDS_MAX    (1 << 24)

/* The object that the reference at `addr` points to; 0: null, or unreadable. */
static __always_inline u64 read_reference(const struct hotspot_layout *jvm, u64 addr)
{
	u64 value = 0;
	u32 narrow = 0;

	if (jvm->chunk.reference_bytes == 8)
		return walk_read(&value, sizeof(value), addr) ? 0 : value;
	if (walk_read(&narrow, sizeof(narrow), addr) || !narrow)
		return 0;
	return jvm->chunk.narrow_base + ((u64)narrow << (jvm->chunk.narrow_shift & 7));
}

/* A number of words in a chunk. */
static __always_inline u32 read_words(u64 chunk, u16 at)
{
	u32 value = 0;

	return walk_read(&value, sizeof(value), chunk + at) ? 0 : value;
}

/*
 * Moves the walk to the first frame of the next chunk that has one, from `chunk` on. Returns 1; 0
 * if all chunks are empty, or a negative number if a chunk cannot be read.
 */
int walk_next_chunk(struct walk *w, u64 chunk)
{
	if (!w)
		return -1;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm)
		return -1;

	for (u32 i = 0; i < CHUNKS_MAX && chunk; i++) {
		const struct hotspot_chunk *c = &jvm->chunk;
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
		chunk = read_reference(jvm, chunk + c->parent);
	}
	return chunk ? -1 : 0;
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
 * Moves a walk that has crossed the return barrier into the chunks of the continuation of w->entry.
 * Returns 1, or 0 with pc, sp and fp as before: the walk then goes on at the entry. It does so if
 * no chunk has a frame, or if the chunk may hold frames that the walk already found on the stack:
 *
 *	stack: Cart.add, handle      chunk: run                      before the freeze
 *	stack: Cart.add, handle      chunk: Cart.add, handle, run    libjvm has copied both frames
 *	stack: enterSpecial          chunk: Cart.add, handle, run    the freeze has ended
 *
 * In the second state a walk must not enter. It knows a freeze by doYield from the frame of doYield
 * (w->yields). libjvm freezes a thread that it preempts at a monitor without doYield; the chunk
 * then begins with the pc of the stack's first Java frame (w->top_pc).
 */
int walk_enter_chunks(struct walk *w)
{
	u64 cont = 0;

	if (!w)
		return 0;
	const struct hotspot_layout *jvm = walk_jvm(w);
	if (!jvm || !jvm->chunk.reference_bytes || w->yields ||
	    walk_read(&cont, sizeof(cont), w->entry + ENTRY_CONTINUATION) || !cont)
		return 0;

	u64 sp = w->regs.sp, fp = w->regs.fp, pc = w->regs.pc;
	int found = walk_next_chunk(w, read_reference(jvm, cont + jvm->chunk.tail));
	if (found > 0 && w->regs.pc != w->top_pc) {
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
	int found = walk_next_chunk(w, read_reference(jvm, w->chunk + jvm->chunk.parent));

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
