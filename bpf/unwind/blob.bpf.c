// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Finds the CodeBlob that holds a pc in a HotSpot code heap. Part of unwind/walk.h. */
#include "hotspot_code.h"
#include "maps.h"

#define SEGMAP_HOPS        40    /* of up to 254 segments each: 1.2 MB at 128 bytes a segment */
#define SEGMENT_FREE       0xff  /* in the segment map */
#define HEADER_TO_CODE_MAX 8192  /* from a blob to its code: header, relocations, constants */
#define HEADER_SHORT       128   /* covers all fields of CodeBlob in every JDK */
#define FRAME_WORDS_MAX    65536 /* largest plausible frame of a blob */
#define BLOB_BYTES_MAX     (1u << 30)

/*
 * Fields at offsets from the JVM's tables. The offsets are untrusted: the masks keep each read
 * inside the header, as the verifier requires.
 */
static __always_inline u64 field_u64(const struct walk *w, u16 off)
{
	return *(const u64 *)(w->header + WALK_BLOCK_BYTES + (off & (HOTSPOT_HEADER_MAX - 8)));
}

static __always_inline s32 field_s32(const struct walk *w, u16 off)
{
	return *(const s32 *)(w->header + WALK_BLOCK_BYTES + (off & (HOTSPOT_HEADER_MAX - 4)));
}

static __always_inline s16 field_s16(const struct walk *w, u16 off)
{
	return *(const s16 *)(w->header + WALK_BLOCK_BYTES + (off & (HOTSPOT_HEADER_MAX - 2)));
}

static __always_inline u8 field_u8(const struct walk *w, u16 off)
{
	return w->header[WALK_BLOCK_BYTES + (off & (HOTSPOT_HEADER_MAX - 1))];
}

static __always_inline int hop(const struct hotspot_heap *heap, u64 segment, u8 *back)
{
	if (walk_read(back, 1, heap->segmap + segment))
		return STAT_SEGMAP_UNREADABLE;
	return *back == SEGMENT_FREE || *back > segment ? STAT_NO_BLOB : 0;
}

/*
 * CodeHeap::find_block_for: each byte of the map is the number of segments to go back, 0 at the
 * start of a block (share/memory/heap.cpp).
 */
static __always_inline int find_block(const struct hotspot_heap *heap, u64 segment, u64 *block)
{
	u8 back;

	for (u32 i = 0; i < SEGMAP_HOPS; i++) {
		int stop = hop(heap, segment, &back);

		if (stop)
			return stop;
		if (back == 0) {
			*block = heap->start + (segment << (heap->shift & 63));
			return 0;
		}
		segment -= back;
	}
	return STAT_NO_BLOB;
}

int walk_is_return_address(const struct hotspot_layout *jvm, u64 ra)
{
	u8 before[CALL_BYTES];

	if (!jvm || !walk_is_code(jvm, ra))
		return false;
	if (walk_is_interpreter(jvm, ra))
		return true;
	return !walk_read(before, sizeof(before), ra - CALL_BYTES) && is_behind_call(before);
}

static __always_inline u32 class_of(const struct walk *w, const struct hotspot_layout *jvm,
				    u64 name)
{
	u32 class = HOTSPOT_CLASS_UNKNOWN;

	if (jvm->kind != HOTSPOT_NO_FIELD)
		class = jvm->kind_class[field_u8(w, jvm->kind) & (HOTSPOT_KINDS - 1)];
	if (!name)
		return class;
	/* CodeBlobKind::Nmethod covers both native wrappers and compiled methods. */
	if (name == jvm->name_native)
		return HOTSPOT_CLASS_NATIVE;
	/* By its kind this blob is a buffer with frames, but none of its routines has one. */
	if (name == jvm->name_signature)
		return HOTSPOT_CLASS_BARE;
	if (class != HOTSPOT_CLASS_UNKNOWN)
		return class;
	if (name == jvm->name_nmethod)
		return HOTSPOT_CLASS_NMETHOD;
	if (name == jvm->name_vtable || name == jvm->name_adapter || name == jvm->name_mh_adapter)
		return HOTSPOT_CLASS_BARE;
	return HOTSPOT_CLASS_STUB;
}

/*
 * An offset from the blob's start. The field is an offset or a pointer; implausible values become
 * 0.
 */
static __always_inline u32 place(const struct walk *w, bool is_offset, u16 field)
{
	if (field == HOTSPOT_NO_FIELD)
		return 0;
	u64 off = is_offset ? (u64)(s64)field_s32(w, field) : field_u64(w, field) - w->blob.addr;
	return off <= BLOB_BYTES_MAX ? off : 0;
}

static __always_inline void read_deopt(struct walk *w, const struct hotspot_layout *jvm)
{
	bool is_offset = jvm->flags & HOTSPOT_DEOPT_IS_OFFSET;

	if (jvm->orig_pc == HOTSPOT_NO_FIELD)
		return;
	w->blob.orig_pc = field_s32(w, jvm->orig_pc);
	w->blob.deopt = place(w, is_offset, jvm->deopt);
	w->blob.deopt_mh = place(w, is_offset, jvm->deopt_mh);
}

static __always_inline u32 kind_of(u32 class, u64 name, const struct hotspot_layout *jvm)
{
	if (class == HOTSPOT_CLASS_NMETHOD)
		return USER_FRAME_COMPILED;
	if (class == HOTSPOT_CLASS_NATIVE)
		return USER_FRAME_WRAPPER;
	return name && name == jvm->name_vtable ? USER_FRAME_VTABLE : USER_FRAME_STUB;
}

static __always_inline void read_blob(struct walk *w, const struct hotspot_layout *jvm)
{
	bool is_offset = jvm->flags & HOTSPOT_CODE_IS_OFFSET;
	struct blob *b = &w->blob;
	u64 name = field_u64(w, jvm->name);

	b->code_start = place(w, is_offset, jvm->code_begin);
	b->code_end = place(w, is_offset, jvm->code_end);
	b->name = name;
	b->frame_size = field_s32(w, jvm->frame_size);
	if (jvm->flags & HOTSPOT_FRAME_COMPLETE_IS_16)
		b->frame_complete = field_s16(w, jvm->frame_complete);
	else
		b->frame_complete = field_s32(w, jvm->frame_complete);
	b->class = class_of(w, jvm, name);
	b->kind = kind_of(b->class, name, jvm);
	b->compile_id = b->orig_pc = b->deopt = b->deopt_mh = 0;
	if (b->class == HOTSPOT_CLASS_NMETHOD)
		read_deopt(w, jvm);
	if ((b->class == HOTSPOT_CLASS_NMETHOD || b->class == HOTSPOT_CLASS_NATIVE) &&
	    jvm->compile_id != HOTSPOT_NO_FIELD)
		b->compile_id = field_s32(w, jvm->compile_id);
}

/*
 * Fills w->blob from the block's header if the blob holds `addr`. Global, because the verifier
 * would otherwise follow every kind of blob in each of its callers.
 */
int walk_read_block(struct walk *w, u64 block, u64 addr)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	struct blob *b = &w->blob;

	if (!jvm)
		return STAT_NO_JVM;

	b->addr = block + jvm->block_size;
	/*
	 * One read gets all fields. Less may be readable: there may be no memory before a heap's
	 * first block, and little after the last blob of the committed memory.
	 */
	u32 skip = jvm->block_size <= 8 ? WALK_BLOCK_BYTES - 8 : 0;
	u64 start = b->addr - WALK_BLOCK_BYTES + skip;
	u64 bytes = WALK_BLOCK_BYTES - skip + jvm->header_bytes;
	if (bytes > sizeof(w->header) - skip || walk_read(w->header + skip, bytes, start)) {
		__builtin_memset(w->header, 0, sizeof(w->header));
		if (walk_read(w->header + skip, WALK_BLOCK_BYTES + HEADER_SHORT - skip, start))
			return STAT_BLOB_UNREADABLE;
	}
	/* HeapBlock has at most 16 bytes: the used flag is among the bytes read. */
	u32 used = WALK_BLOCK_BYTES - jvm->block_size + jvm->block_used;
	if (w->header[used & (WALK_BLOCK_BYTES - 1)] != 1)
		return STAT_NO_BLOB;

	read_blob(w, jvm);
	if (!b->code_start || !blob_holds(b, addr))
		return STAT_NO_BLOB;
	if (b->frame_size < -1 || b->frame_size > FRAME_WORDS_MAX)
		return STAT_BAD_BLOB;
	return 0;
}

/*
 * Usually the first hop reaches the block. Its header must then be in use and followed by code that
 * holds the pc. Code in the middle of a block hardly ever looks like such a header.
 */
static __always_inline bool try_first_hop(struct walk *w, const struct hotspot_heap *heap,
					  u64 segment, u64 addr)
{
	u8 back;

	if (hop(heap, segment, &back))
		return false;
	u64 block = heap->start + ((segment - back) << (heap->shift & 63));
	return !walk_read_block(w, block, addr) && w->blob.code_start < HEADER_TO_CODE_MAX;
}

static __always_inline struct blob *remembered(struct walk *w, u64 addr)
{
	return &w->blobs[(addr >> 7 ^ addr >> 15) & (WALK_BLOBS - 1)];
}

/*
 * Whether the cached blob still exists. No JVM reuses a compile id. A blob without one is
 * permanent, or is replaced by a blob of another name. The header of a freed block keeps its
 * contents, even with new code at the block's end, except for the used flag. One read gets the used
 * flag and the compile id: the bytes between them cost less than a second read.
 *
 * An order of events in which each of the two is needed:
 *
 * 	1. A sample finds the nmethod of compile id 17 in block A, which is then cached.
 * 	2. The JVM frees A. Its header still says 17, but the used flag is 0.
 * 	3. The JVM puts new code, id 18, at the end of A. The front of A stays free, and A's header
 * 	   still has id 17. A pc in the new code lies in the cached range of 17: only the used
 * 	   flag, 0, shows that 17 is gone.
 * 	4. The JVM puts new code, id 19, at the front of A. The used flag is 1 again: only the id,
 * 	   19, shows that 17 is gone.
 */
static __always_inline bool is_still(struct walk *w, const struct blob *b,
				     const struct hotspot_layout *jvm)
{
	u64 used_at = jvm->block_size - jvm->block_used; /* before the blob */
	u64 at = used_at + (b->compile_id ? jvm->compile_id : jvm->name);

	if (at > HOTSPOT_HEADER_MAX - 4 || walk_read(w->header, at + 4, b->addr - used_at))
		return false;
	return w->header[0] == 1 &&
	       *(u32 *)(w->header + (at & (HOTSPOT_HEADER_MAX - 4))) == (b->compile_id ?: b->name);
}

int walk_recall_blob(struct walk *w, u64 addr)
{
	if (!w)
		return 0;
	const struct hotspot_layout *jvm = walk_jvm(w);
	const struct blob *b = remembered(w, addr);

	if (blob_holds(&w->blob, addr)) /* usually recursion */
		return 1;
	if (!jvm || b->publication != w->proc.publication || !blob_holds(b, addr) ||
	    !is_still(w, b, jvm))
		return 0;
	w->blob = *b;
	return 1;
}

int walk_find_blob(struct walk *w, u64 addr)
{
	if (!w)
		return STAT_NO_SCRATCH;
	const struct hotspot_layout *jvm = walk_jvm(w);
	u64 block = 0;
	int stop = 0;

	if (blob_holds(&w->blob, addr))
		return 0;
	const struct hotspot_heap *heap = jvm ? walk_heap(jvm, addr) : NULL;
	if (!heap)
		return STAT_NO_JVM;
	u64 segment = (addr - heap->start) >> (heap->shift & 63);
	if (!try_first_hop(w, heap, segment, addr))
		stop = find_block(heap, segment, &block) ?: walk_read_block(w, block, addr);
	if (stop) {
		w->blob.code_end = w->blob.code_start;
		return stop;
	}
	bool is_nmethod = w->blob.kind == USER_FRAME_COMPILED || w->blob.kind == USER_FRAME_WRAPPER;
	if (w->blob.compile_id || !is_nmethod) {
		w->blob.publication = w->proc.publication;
		*remembered(w, addr) = w->blob;
	}
	return 0;
}
