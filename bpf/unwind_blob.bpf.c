// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* From a pc in a HotSpot code heap to the CodeBlob that holds it. */
#include "maps.h"

#define SEGMAP_HOPS        40    /* of up to 254 segments each: 1.2 MB at 128 bytes a segment */
#define SEGMENT_FREE       0xff  /* in the segment map */
#define HEADER_TO_CODE_MAX 8192  /* from a blob to its code: header, relocations, constants */
#define HEADER_SHORT       128   /* reaches all fields of CodeBlob, of every JDK */
#define FRAME_WORDS_MAX    65536 /* of a blob's frame */

/*
 * Fields at offsets that the JVM's tables told. They are not believed: the masks keep a read
 * inside the header, as the verifier wants it.
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
 * CodeHeap::find_block_for: each byte of the map says how many segments to go back, 0 at the
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

static __always_inline u32 class_of(const struct walk *w, const struct hotspot_layout *jvm,
				    u64 name)
{
	u32 class = HOTSPOT_CLASS_UNKNOWN;

	if (jvm->kind != HOTSPOT_NO_FIELD)
		class = jvm->kind_class[field_u8(w, jvm->kind) & (HOTSPOT_KINDS - 1)];
	if (!name)
		return class;
	/* CodeBlobKind::Nmethod does not tell native wrappers from compiled methods. */
	if (name == jvm->name_native)
		return HOTSPOT_CLASS_NATIVE;
	if (class != HOTSPOT_CLASS_UNKNOWN)
		return class;
	if (name == jvm->name_nmethod)
		return HOTSPOT_CLASS_NMETHOD;
	if (name == jvm->name_vtable || name == jvm->name_adapter || name == jvm->name_mh_adapter)
		return HOTSPOT_CLASS_BARE;
	return HOTSPOT_CLASS_STUB;
}

static __always_inline void read_deopt(struct walk *w, const struct hotspot_layout *jvm)
{
	struct blob *b = &w->blob;

	if (jvm->orig_pc == HOTSPOT_NO_FIELD || jvm->deopt == HOTSPOT_NO_FIELD)
		return;
	b->orig_pc = field_s32(w, jvm->orig_pc);
	b->deopt_mh = 0;
	if (jvm->flags & HOTSPOT_DEOPT_IS_OFFSET) {
		b->deopt = b->addr + field_s32(w, jvm->deopt);
		if (jvm->deopt_mh != HOTSPOT_NO_FIELD)
			b->deopt_mh = b->addr + field_s32(w, jvm->deopt_mh);
	} else {
		b->deopt = field_u64(w, jvm->deopt);
		if (jvm->deopt_mh != HOTSPOT_NO_FIELD)
			b->deopt_mh = field_u64(w, jvm->deopt_mh);
	}
}

static __always_inline void read_blob(struct walk *w, const struct hotspot_layout *jvm)
{
	struct blob *b = &w->blob;

	if (jvm->flags & HOTSPOT_CODE_IS_OFFSET) {
		b->code_start = b->addr + field_s32(w, jvm->code_begin);
		b->code_end = b->addr + field_s32(w, jvm->code_end);
	} else {
		b->code_start = field_u64(w, jvm->code_begin);
		b->code_end = field_u64(w, jvm->code_end);
	}
	b->name = field_u64(w, jvm->name);
	b->frame_size = field_s32(w, jvm->frame_size);
	if (jvm->flags & HOTSPOT_FRAME_COMPLETE_IS_16)
		b->frame_complete = field_s16(w, jvm->frame_complete);
	else
		b->frame_complete = field_s32(w, jvm->frame_complete);
	b->class = class_of(w, jvm, b->name);
	b->compile_id = 0;
	b->orig_pc = 0;
	if (b->class == HOTSPOT_CLASS_NMETHOD)
		read_deopt(w, jvm);
	if ((b->class == HOTSPOT_CLASS_NMETHOD || b->class == HOTSPOT_CLASS_NATIVE) &&
	    jvm->compile_id != HOTSPOT_NO_FIELD)
		b->compile_id = field_s32(w, jvm->compile_id);
}

/* Fills w->blob from the block's header. */
static __always_inline int read_block(struct walk *w, const struct hotspot_layout *jvm, u64 block,
				      u64 addr)
{
	struct blob *b = &w->blob;

	b->addr = block + jvm->block_size;
	/* One read for all fields; the last blob of the committed memory has less behind it. */
	if (walk_read(w->header, sizeof(w->header), b->addr - WALK_BLOCK_BYTES)) {
		__builtin_memset(w->header, 0, sizeof(w->header));
		if (walk_read(w->header, WALK_BLOCK_BYTES + HEADER_SHORT,
			      b->addr - WALK_BLOCK_BYTES))
			return STAT_BLOB_UNREADABLE;
	}
	/* HeapBlock: at most 16 bytes, so that the used flag is among those read. */
	u32 used = WALK_BLOCK_BYTES - jvm->block_size + jvm->block_used;
	if (w->header[used & (WALK_BLOCK_BYTES - 1)] != 1)
		return STAT_NO_BLOB;

	read_blob(w, jvm);
	if (addr < b->code_start || addr >= b->code_end)
		return STAT_NO_BLOB;
	if (b->frame_size < -1 || b->frame_size > FRAME_WORDS_MAX)
		return STAT_BAD_BLOB;
	return 0;
}

/*
 * Mostly the first hop leads to the block, and its header shows it: that it is in use, has its
 * code behind it, and the pc in that. Code in the middle of a block can hardly look so.
 */
static __always_inline bool try_first_hop(struct walk *w, const struct hotspot_layout *jvm,
					  const struct hotspot_heap *heap, u64 segment, u64 addr)
{
	u8 back;

	if (hop(heap, segment, &back))
		return false;
	u64 block = heap->start + ((segment - back) << (heap->shift & 63));
	return !read_block(w, jvm, block, addr) &&
	       w->blob.code_start - w->blob.addr < HEADER_TO_CODE_MAX;
}

int walk_find_blob(struct walk *w, u64 addr)
{
	if (!w)
		return STAT_NO_SCRATCH;
	u32 index = w->proc.jvm, i = w->range.heap;
	const struct hotspot_layout *jvm = bpf_map_lookup_elem(&jvms, &index);
	u64 block = 0;

	/* Recursion, mostly. */
	if (addr - w->blob.code_start < w->blob.code_end - w->blob.code_start)
		return 0;
	if (!jvm || i >= HOTSPOT_HEAPS)
		return STAT_NO_JVM;
	const struct hotspot_heap *heap = &jvm->heaps[i & (HOTSPOT_HEAPS - 1)];
	u64 segment = (addr - heap->start) >> (heap->shift & 63);
	if (try_first_hop(w, jvm, heap, segment, addr))
		return 0;
	w->blob.code_end = w->blob.code_start;
	int stop = find_block(heap, segment, &block);
	return stop ?: read_block(w, jvm, block, addr);
}
