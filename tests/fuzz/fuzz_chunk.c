/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile StackChunks: any words give frames within the words, or a walk that ends. Return
 * addresses of compiled code are those from CODE on, one for each size of a frame.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/hotspot/hotspot_private.h"

#define CODE             0x10000
#define SIZES            16
#define INTERPRETER      0x20000
#define INTERPRETER_SIZE 0x1000
#define FRAMES           64

static void add_code(struct chunk_code *c)
{
	for (u32 i = 0; i < SIZES; i++) {
		vec_push(&c->blobs, (struct chunk_blob){ .addr = CODE,
							 .code_start = CODE,
							 .code_end = CODE + SIZES,
							 .compile_id = i + 1,
							 .frame_size = i, /* 0: unknown */
							 .deopt = i == 3 ? 3 : 0,
							 .orig_pc = i == 3 ? 8 : 0,
							 .kind = USER_FRAME_COMPILED });
		*dict_add(&c->by_pc, CODE + i) = c->blobs.nr;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct hotspot h = { .interpreter_start = INTERPRETER,
			     .interpreter_end = INTERPRETER + INTERPRETER_SIZE };
	struct chunk_code code = { 0 };
	struct user_frame frames[FRAMES];
	size_t nr = size / 8;
	u32 nr_frames = 0;

	/* Exactly as large as the words: the sanitizer sees reads beyond them. */
	auto_free u64 *words = xmalloc(nr * 8 + 1);
	memcpy(words, data, nr * 8);
	add_code(&code);
	bool is_whole = chunk_walk(&code, &h, words, nr, frames, FRAMES, &nr_frames);
	if (nr_frames > FRAMES || nr_frames > nr)
		abort();
	for (u32 i = 0; i < nr_frames; i++)
		if (!frames[i].addr)
			abort();
	if (is_whole && nr > 2 * CHUNK_METADATA_WORDS && !nr_frames)
		abort();
	chunk_code_fini(&code);
	return 0;
}
