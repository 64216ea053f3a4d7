/* SPDX-License-Identifier: Apache-2.0 */
/* The code heaps of a JVM and the CodeBlobs in them. */
#include "jvm/memory/codeheap.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"

/*
 * Limits of HotSpot; a heap beyond them is not one. It rejects ReservedCodeCacheSize above 2 GB
 * (CODE_CACHE_SIZE_LIMIT), and CodeCacheSegmentSize above 1024 or below CodeEntryAlignment, which
 * is at least 16 (jvmFlagConstraintsCompiler.cpp, globals.hpp). It uses 64 or 128.
 */
#define HEAP_MAX_BYTES (2ull << 30)
#define SHIFT_MIN      4
#define SHIFT_MAX      10
#define HOPS_MAX       40    /* of 254 segments: the Interpreter takes 17 in JDK 8 */
#define TAG_MAX        254   /* 255 is free memory, 0 the first segment of a block */
#define BATCH          128   /* blob headers per read: 64 KB */
#define PIECE          65536 /* tags per read */
#define SIZE_MAX_BLOCK 16

static int read_space(const struct vm_memory *j, u64 space, u64 *low, u64 *high)
{
	int err = vm_read(j, space, SPACE_LOW, low);

	return err ? err : vm_read(j, space, SPACE_HIGH, high);
}

static int read_heap(const struct vm_memory *j, u64 heap, struct hotspot_heap *out,
		     u64 *committed_end)
{
	const struct jvm_field *memory = &j->build.fields[HEAP_MEMORY];
	const struct jvm_field *segmap = &j->build.fields[HEAP_SEGMAP];
	u64 start, end, low, map, map_end, shift;

	if (!memory->width || !segmap->width)
		return -ENOENT;

	int err = vm_read(j, heap + memory->at, SPACE_LOW_BOUNDARY, &start);
	err = err ? err : vm_read(j, heap + memory->at, SPACE_HIGH_BOUNDARY, &end);
	err = err ? err : read_space(j, heap + memory->at, &low, committed_end);
	err = err ? err : read_space(j, heap + segmap->at, &map, &map_end);
	err = err ? err : vm_read(j, heap, HEAP_SHIFT, &shift);
	if (err)
		return err;
	if (!start || !map)
		return -EAGAIN;
	if (start >= end || end - start > HEAP_MAX_BYTES || low != start || *committed_end < low ||
	    *committed_end > end || shift < SHIFT_MIN || shift > SHIFT_MAX)
		return -EBADMSG;
	*out = (struct hotspot_heap){ start, end, map, (u32)shift, 0 };
	return 0;
}

/* JDK 9 and later: a growable array of heaps. */
static int list_heaps(const struct vm_memory *j, u64 list[HOTSPOT_HEAPS], u32 *nr)
{
	u64 array, data, len;
	int err = vm_read_static(j, CODE_CACHE_HEAPS, &array);

	if (err == -ENOENT) {
		err = vm_read_static(j, CODE_CACHE_HEAP, &list[0]);
		*nr = 1;
		return err ? err : list[0] ? 0 : -EAGAIN;
	}
	if (err)
		return err;
	if (!array)
		return -EAGAIN;
	err = vm_read(j, array, ARRAY_LEN, &len);
	err = err ? err : vm_read(j, array, ARRAY_DATA, &data);
	if (err)
		return err;
	if (!len)
		return -EAGAIN;
	*nr = len < HOTSPOT_HEAPS ? (u32)len : HOTSPOT_HEAPS;
	return mem_read(j->mem, data, list, *nr * sizeof(list[0]));
}

int code_heaps_read(const struct vm_memory *j, struct code_heaps *out)
{
	struct code_heaps heaps = { .start = UINT64_MAX };
	u64 list[HOTSPOT_HEAPS];
	u32 nr;
	int err = list_heaps(j, list, &nr);

	if (err)
		return err;
	for (u32 i = 0; i < nr; i++) {
		err = read_heap(j, list[i], &heaps.at[i], &heaps.committed_end[i]);
		if (err)
			return err;
		if (heaps.at[i].start < heaps.start)
			heaps.start = heaps.at[i].start;
		if (heaps.at[i].end > heaps.end)
			heaps.end = heaps.at[i].end;
		heaps.nr++;
	}
	*out = heaps;
	return 0;
}

const struct hotspot_heap *code_heaps_find(const struct code_heaps *heaps, u64 pc)
{
	for (u32 i = 0; i < heaps->nr; i++)
		if (pc >= heaps->at[i].start && pc < heaps->at[i].end)
			return &heaps->at[i];
	return NULL;
}

/* Start and end of the code: pointers in JDK 9..22, offsets in other versions. */
static void parse_code(const struct vm_memory *j, struct blob *b)
{
	const struct jvm_build *build = &j->build;

	if (vm_has(build, BLOB_CODE_BEGIN) && vm_has(build, BLOB_CODE_END)) {
		b->code_start = (u64)jvm_get(build, BLOB_CODE_BEGIN, b->header, b->header_len);
		b->code_end = (u64)jvm_get(build, BLOB_CODE_END, b->header, b->header_len);
	} else {
		b->code_start =
			b->addr + (u64)jvm_get(build, BLOB_CODE_OFFSET, b->header, b->header_len);
		b->code_end =
			b->addr + (u64)jvm_get(build, BLOB_DATA_OFFSET, b->header, b->header_len);
	}
}

/* Parses b->header; -EBADMSG if it cannot be a blob's. */
static int parse_blob(const struct vm_memory *j, const struct hotspot_heap *heap, struct blob *b)
{
	const struct jvm_build *build = &j->build;
	s64 size = jvm_get(build, BLOB_SIZE, b->header, b->header_len);

	if (size <= 0 || (u64)size > heap->end - b->addr)
		return -EBADMSG;
	b->end = b->addr + (u64)size;
	b->name = (u64)jvm_get(build, BLOB_NAME, b->header, b->header_len);
	b->kind = (u8)jvm_get(build, BLOB_KIND, b->header, b->header_len);
	b->frame_size = (s32)jvm_get(build, BLOB_FRAME_SIZE, b->header, b->header_len);
	b->frame_complete = (s32)jvm_get(build, BLOB_FRAME_COMPLETE, b->header, b->header_len);
	parse_code(j, b);
	if (b->code_start < b->addr || b->code_start > b->code_end || b->code_end > b->end)
		return -EBADMSG;
	return 0;
}

static u32 readable_header(const struct code_heaps *heaps, const struct hotspot_heap *heap,
			   u64 addr)
{
	u64 end = heaps->committed_end[heap - heaps->at];
	u64 left = end > addr ? end - addr : 0;

	return left < HOTSPOT_HEADER_MAX ? (u32)left : HOTSPOT_HEADER_MAX;
}

int blob_read(const struct vm_memory *j, const struct code_heaps *heaps, u64 addr, struct blob *out)
{
	const struct hotspot_heap *heap = code_heaps_find(heaps, addr);
	struct blob b = { .addr = addr };

	if (!heap)
		return -ENOENT;

	ssize_t n = mem_read_some(j->mem, addr, b.header, sizeof(b.header));
	if (n < 0)
		return (int)n;
	b.header_len = (u32)n;
	int err = parse_blob(j, heap, &b);
	if (err)
		return err;
	*out = b;
	return 0;
}

/* Finds the first segment of the block that holds `segment`; -ENOENT if it is free. */
static int find_block(const struct vm_memory *j, const struct hotspot_heap *heap, u64 *segment)
{
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		/* One read gets all possible destinations of the hop. */
		u8 tags[TAG_MAX + 1];
		u64 first = *segment < TAG_MAX ? 0 : *segment - TAG_MAX;
		int err = mem_read(j->mem, heap->segmap + first, tags, *segment - first + 1);
		if (err)
			return err;

		u8 tag = tags[*segment - first];
		if (tag > TAG_MAX || tag > *segment)
			return -ENOENT;
		*segment -= tag;
		if (!tags[*segment - first])
			return 0;
	}
	return -ENOENT;
}

int blob_find(const struct vm_memory *j, const struct code_heaps *heaps, u64 pc, struct blob *out)
{
	const struct hotspot_heap *heap = code_heaps_find(heaps, pc);
	u32 block_size = j->build.sizes[SIZE_HEAP_BLOCK];
	struct blob b;

	if (!heap || !block_size)
		return -ENOENT;

	u64 segment = (pc - heap->start) >> heap->shift;
	int err = find_block(j, heap, &segment);
	if (!err)
		err = blob_read(j, heaps, heap->start + (segment << heap->shift) + block_size, &b);
	if (err)
		return err;
	if (pc < b.addr || pc >= b.end)
		return -ENOENT;
	*out = b;
	return 0;
}

/* Blocks whose headers are read together. The block's header precedes each blob. */
struct block_batch {
	u64 blocks[BATCH];
	u8 bytes[BATCH][SIZE_MAX_BLOCK + HOTSPOT_HEADER_MAX];
	u32 nr;
};

static int visit_batch(const struct vm_memory *j, const struct code_heaps *heaps,
		       const struct hotspot_heap *heap, struct block_batch *batch,
		       int (*visit)(void *ctx, const struct blob *b), void *ctx)
{
	u32 block_size = j->build.sizes[SIZE_HEAP_BLOCK];
	struct mem_request requests[BATCH];

	for (u32 i = 0; i < batch->nr; i++)
		requests[i] = (struct mem_request){
			batch->blocks[i], batch->bytes[i],
			block_size + readable_header(heaps, heap, batch->blocks[i] + block_size),
			false
		};
	int nr_ok = mem_read_batch(j->mem, requests, batch->nr);
	if (nr_ok < 0)
		return nr_ok;
	for (u32 i = 0; i < batch->nr; i++) {
		struct blob b = { .addr = batch->blocks[i] + block_size };

		if (!requests[i].ok ||
		    !jvm_get(&j->build, BLOCK_USED, batch->bytes[i], SIZE_MAX_BLOCK))
			continue;
		b.header_len = requests[i].len - block_size;
		memcpy(b.header, batch->bytes[i] + block_size, b.header_len);
		if (parse_blob(j, heap, &b))
			continue;
		int stop = visit(ctx, &b);
		if (stop)
			return stop;
	}
	batch->nr = 0;
	return 0;
}

/* A walk's memory. */
struct walk_room {
	u8 tags[PIECE];
	struct block_batch batch;
};

/*
 * Visits the blocks that begin in a piece of the map; at least one batch, even after the deadline.
 */
static int walk_piece(const struct vm_memory *j, const struct code_heaps *heaps,
		      struct code_walk *walk, struct walk_room *room, size_t len,
		      int (*visit)(void *ctx, const struct blob *b), void *ctx)
{
	const struct hotspot_heap *heap = &heaps->at[walk->heap];
	u64 first = walk->segment;
	int err = 0;

	for (size_t i = 0; i < len && !err; i++) {
		if (!room->tags[i])
			room->batch.blocks[room->batch.nr++] =
				heap->start + ((first + i) << heap->shift);
		walk->segment = first + i + 1;
		if (room->batch.nr < BATCH && i + 1 < len)
			continue;
		err = visit_batch(j, heaps, heap, &room->batch, visit, ctx);
		if (!err && time_worked_ns() >= walk->deadline_ns)
			err = -ETIMEDOUT;
	}
	return err;
}

/* Every segment with tag 0 begins a block: the map of the committed part lists all blocks. */
static int walk_heap(const struct vm_memory *j, const struct code_heaps *heaps,
		     struct code_walk *walk, struct walk_room *room,
		     int (*visit)(void *ctx, const struct blob *b), void *ctx)
{
	const struct hotspot_heap *heap = &heaps->at[walk->heap];
	u64 nr = (heaps->committed_end[walk->heap] - heap->start) >> heap->shift;

	while (walk->segment < nr) {
		size_t len = nr - walk->segment < PIECE ? nr - walk->segment : PIECE;
		ssize_t n = mem_read_some(j->mem, heap->segmap + walk->segment, room->tags, len);
		if (n < 0)
			return (int)n;
		int err = walk_piece(j, heaps, walk, room, (size_t)n, visit, ctx);
		if (err)
			return err;
		if ((size_t)n < len)
			break;
	}
	return 0;
}

int code_heaps_walk(const struct vm_memory *j, const struct code_heaps *heaps,
		    struct code_walk *walk, int (*visit)(void *ctx, const struct blob *b),
		    void *ctx)
{
	u32 block_size = j->build.sizes[SIZE_HEAP_BLOCK];

	if (!block_size || block_size > SIZE_MAX_BLOCK)
		return -ENOENT;
	auto_free struct walk_room *room = xmalloc(sizeof(*room));
	room->batch.nr = 0;
	for (; walk->heap < heaps->nr; walk->heap++, walk->segment = 0) {
		int err = walk_heap(j, heaps, walk, room, visit, ctx);
		if (err == -ETIMEDOUT)
			return err;
		if (err) {
			walk->heap = 0;
			walk->segment = 0;
			return err;
		}
	}
	walk->heap = 0;
	return 0;
}
