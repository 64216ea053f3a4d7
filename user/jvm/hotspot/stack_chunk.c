/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the frames in a copy of a StackChunk. Part of jvm/hotspot/hotspot_private.h.
 *
 * Compiled frames look as on a stack: the return address is a word below the caller's sp. Words of
 * interpreted frames that would be addresses are relative: saved fp to its own place, sender sp and
 * locals to fp, all in words (runtime/continuationFreezeThaw.cpp,
 * cpu/x86/{stackChunkFrameStream,continuationFreezeThaw}_x86.inline.hpp).
 */
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/compiled.h"

#define CHECK_NS    (200 * NS_PER_MS)
#define BLOBS_MAX   8192
#define PCS_MAX     65536
#define NEW_MAX     1024  /* pcs that are looked up in the JVM, from one check to the next */
#define FRAME_MAX   65536 /* words */
#define METHOD_SLOT (-3)  /* of an interpreted frame (layout.c) */
#define BCP_SLOT    (-8)
#define LOCALS_SLOT (-7)
#define SENDER_SLOT (-1)

void chunk_code_fini(struct chunk_code *c)
{
	dict_fini(&c->by_pc);
	c->by_pc = (struct dict){ 0 };
	vec_fini(&c->blobs);
}

/* A frozen frame keeps its nmethod. Between two checks others may have come and gone. */
void chunk_code_check(struct chunk_code *c, const struct hotspot *h)
{
	const struct jvm_field *id = &h->jvm.build.fields[NM_COMPILE_ID];
	u64 now = time_mono_ns();

	c->nr_new = 0;
	if (now < c->checked_ns + CHECK_NS || !c->blobs.nr)
		return;
	c->checked_ns = now;
	auto_free struct mem_request *requests = xcalloc(c->blobs.nr, sizeof(*requests));
	auto_free u32 *ids = xcalloc(c->blobs.nr, sizeof(*ids));
	size_t nr = 0;
	for (size_t i = 0; i < c->blobs.nr; i++)
		if (c->blobs.at[i].compile_id)
			requests[nr++] = (struct mem_request){ c->blobs.at[i].addr + id->at,
							       &ids[i], sizeof(u32), false };
	bool is_same = !nr || mem_read_batch(h->jvm.mem, requests, nr) >= 0;
	for (size_t i = 0; is_same && i < c->blobs.nr; i++)
		is_same = ids[i] == c->blobs.at[i].compile_id;
	if (!is_same || c->blobs.nr > BLOBS_MAX || c->by_pc.nr > PCS_MAX)
		chunk_code_fini(c);
}

/* An offset from the blob's start; the field is an offset or a pointer. 0: none. */
static u32 place(const struct hotspot *h, const struct blob *b, enum jvm_slot pointer,
		 enum jvm_slot offset)
{
	const struct jvm_build *build = &h->jvm.build;
	bool is_pointer = vm_has(build, pointer);
	u64 value = (u64)jvm_get(build, is_pointer ? pointer : offset, b->header, b->header_len);
	u64 off = is_pointer ? value - b->addr : value;

	return off < b->end - b->addr ? (u32)off : 0;
}

static u32 add_blob(struct chunk_code *c, struct hotspot *h, const struct blob *b)
{
	enum hotspot_class class = hotspot_blob_name(h, b)->class;
	bool is_nmethod = class == HOTSPOT_CLASS_NMETHOD || class == HOTSPOT_CLASS_NATIVE;
	struct chunk_blob blob = { .addr = b->addr,
				   .code_start = b->code_start,
				   .code_end = b->code_end,
				   .frame_size = b->frame_size > 0 && b->frame_size < FRAME_MAX
							 ? (u32)b->frame_size
							 : 0,
				   .kind = class == HOTSPOT_CLASS_NMETHOD  ? USER_FRAME_COMPILED
					   : class == HOTSPOT_CLASS_NATIVE ? USER_FRAME_WRAPPER
									   : USER_FRAME_STUB };

	if (is_nmethod)
		blob.compile_id = compiled_id(&h->jvm, b);
	if (class == HOTSPOT_CLASS_NMETHOD) {
		blob.deopt = place(h, b, NM_DEOPT_BEGIN, NM_DEOPT_OFFSET);
		blob.deopt_mh = place(h, b, NM_DEOPT_MH_BEGIN, NM_DEOPT_MH_OFFSET);
		blob.orig_pc = (u32)jvm_get(&h->jvm.build, NM_ORIG_PC, b->header, b->header_len);
	}
	vec_push(&c->blobs, blob);
	return (u32)c->blobs.nr;
}

static const struct chunk_blob *find_blob(struct chunk_code *c, struct hotspot *h, u64 pc)
{
	const u64 *known = dict_find(&c->by_pc, pc);
	struct blob b;

	if (known)
		return &c->blobs.at[*known - 1];
	if (c->nr_new++ >= NEW_MAX || blob_find(&h->jvm, &h->heaps, pc - 1, &b))
		return NULL;
	u32 index = 0;
	for (size_t i = 0; !index && i < c->blobs.nr; i++)
		if (c->blobs.at[i].addr == b.addr && c->blobs.at[i].code_end == b.code_end)
			index = (u32)i + 1;
	if (!index)
		index = add_blob(c, h, &b);
	*dict_add(&c->by_pc, pc) = index;
	return &c->blobs.at[index - 1];
}

/* The walk: indexes of words. */
struct chunk_walk {
	const u64 *words;
	size_t nr;
	size_t sp;            /* above the return address into the frame */
	size_t unextended_sp; /* where the frame begins, below arguments that its callee took */
};

static bool step_interpreted(struct chunk_walk *w, struct user_frame *out)
{
	u64 link = w->sp - 2, fp = link + w->words[link];

	if (fp < w->sp || fp >= w->nr || fp < 8)
		return false;
	u64 method = w->words[fp + METHOD_SLOT];
	if (method < 4096 || method & 7)
		return false;
	out->addr = method;
	out->info = (u64)USER_FRAME_INTERPRETED << USER_FRAME_KIND_SHIFT |
		    (w->words[fp + BCP_SLOT] & USER_FRAME_BCP_MASK);
	if (fp + w->words[fp + LOCALS_SLOT] + 1 >= w->nr) {
		w->sp = w->nr;
		return true;
	}
	w->sp = fp + 2;
	w->unextended_sp = fp + w->words[fp + SENDER_SLOT];
	return w->unextended_sp < w->nr;
}

static bool step_compiled(struct chunk_walk *w, const struct chunk_blob *b, u64 pc,
			  struct user_frame *out)
{
	u64 off = pc - b->addr, orig = w->unextended_sp + b->orig_pc / 8;

	if (b->deopt && b->orig_pc && (off == b->deopt || off == b->deopt_mh) && orig < w->nr &&
	    w->words[orig] >= b->code_start && w->words[orig] < b->code_end)
		pc = w->words[orig];
	off = pc - b->addr;
	out->addr = pc;
	out->info = (u64)b->kind << USER_FRAME_KIND_SHIFT |
		    (b->compile_id & USER_FRAME_ID_MASK) << USER_FRAME_ID_SHIFT |
		    (off < USER_FRAME_BLOB_MASK ? off : USER_FRAME_BLOB_MASK);
	if (!b->frame_size)
		return false;
	w->sp = w->unextended_sp = w->unextended_sp + b->frame_size;
	return true;
}

bool chunk_walk(struct chunk_code *c, struct hotspot *h, const u64 *words, size_t nr,
		struct user_frame *out, u32 max, u32 *nr_out)
{
	struct chunk_walk w = { words, nr, CHUNK_METADATA_WORDS, CHUNK_METADATA_WORDS };

	while (w.sp + CHUNK_METADATA_WORDS < nr && *nr_out < max) {
		size_t before = w.sp;
		u64 pc = words[w.sp - 1];
		bool is_interpreted = pc >= h->interpreter_start && pc < h->interpreter_end;
		const struct chunk_blob *b = is_interpreted ? NULL : find_blob(c, h, pc);
		struct user_frame frame = { 0 };

		if (!is_interpreted && !b)
			return false;
		bool goes_on = is_interpreted ? step_interpreted(&w, &frame)
					      : step_compiled(&w, b, pc, &frame);
		if (frame.addr)
			out[(*nr_out)++] = frame;
		if (!goes_on || w.sp <= before)
			return false;
	}
	return w.sp <= nr + CHUNK_METADATA_WORDS && w.sp + CHUNK_METADATA_WORDS >= nr;
}
