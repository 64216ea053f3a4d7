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

/* The words of a CodeHeap. */
enum heap_word {
	WORD_START,
	WORD_END,
	WORD_LOW, /* of the committed part */
	WORD_COMMITTED_END,
	WORD_MAP,
	WORD_SHIFT,
	NR_WORDS,
};

/* Requests the words of a heap; -ENOENT if this JVM does not export them. */
static int request_heap(const struct vm_memory *j, u64 heap, u64 words[NR_WORDS],
			struct mem_request requests[NR_WORDS])
{
	const struct jvm_field *fields = j->build.fields;
	const u64 memory = heap + fields[HEAP_MEMORY].at, map = heap + fields[HEAP_SEGMAP].at;
	const struct {
		u64 object;
		enum jvm_slot slot;
	} at[NR_WORDS] = {
		[WORD_START] = { memory, SPACE_LOW_BOUNDARY },
		[WORD_END] = { memory, SPACE_HIGH_BOUNDARY },
		[WORD_LOW] = { memory, SPACE_LOW },
		[WORD_COMMITTED_END] = { memory, SPACE_HIGH },
		[WORD_MAP] = { map, SPACE_LOW },
		[WORD_SHIFT] = { heap, HEAP_SHIFT },
	};

	if (!fields[HEAP_MEMORY].width || !fields[HEAP_SEGMAP].width)
		return -ENOENT;
	for (int i = 0; i < NR_WORDS; i++) {
		const struct jvm_field *f = &fields[at[i].slot];
		if (!f->width)
			return -ENOENT;
		words[i] = 0;
		requests[i] =
			(struct mem_request){ at[i].object + f->at, &words[i], f->width, false };
	}
	return 0;
}

static int check_heap(const u64 words[NR_WORDS], struct hotspot_heap *out, u64 *committed_end)
{
	const u64 start = words[WORD_START], end = words[WORD_END], shift = words[WORD_SHIFT];

	*committed_end = words[WORD_COMMITTED_END];
	if (!start || !words[WORD_MAP])
		return -EAGAIN;
	if (start >= end || end - start > HEAP_MAX_BYTES || words[WORD_LOW] != start ||
	    *committed_end < start || *committed_end > end || shift < SHIFT_MIN ||
	    shift > SHIFT_MAX)
		return -EBADMSG;
	*out = (struct hotspot_heap){ start, end, words[WORD_MAP], (u32)shift, 0 };
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

/* Reads the words of all heaps at once. */
static int read_heaps(const struct vm_memory *j, const u64 list[HOTSPOT_HEAPS], u32 nr,
		      u64 words[HOTSPOT_HEAPS][NR_WORDS])
{
	struct mem_request requests[HOTSPOT_HEAPS * NR_WORDS];

	for (u32 i = 0; i < nr; i++) {
		int err = request_heap(j, list[i], words[i], &requests[i * NR_WORDS]);
		if (err)
			return err;
	}
	int nr_ok = mem_read_batch(j->mem, requests, nr * NR_WORDS);
	return nr_ok < 0 ? nr_ok : (u32)nr_ok < nr * NR_WORDS ? -EFAULT : 0;
}

int code_heaps_read(const struct vm_memory *j, struct code_heaps *out)
{
	struct code_heaps heaps = { .start = UINT64_MAX };
	u64 list[HOTSPOT_HEAPS], words[HOTSPOT_HEAPS][NR_WORDS];
	u32 nr;
	int err = list_heaps(j, list, &nr) ?: read_heaps(j, list, nr, words);

	if (err)
		return err;
	for (u32 i = 0; i < nr; i++) {
		err = check_heap(words[i], &heaps.at[i], &heaps.committed_end[i]);
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
