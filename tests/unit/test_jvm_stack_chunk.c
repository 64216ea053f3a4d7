/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "jvm/hotspot/hotspot_private.h"

#define CODE        0x10000 /* return addresses, one for each size of a frame */
#define SIZES       16
#define INTERPRETER 0x20000
#define METHODS     0x30000
#define WORDS       4096
#define FRAMES      64

/* A chunk is built from its bottom: words.at[top..WORDS) are in use. */
struct built_chunk {
	u64 at[WORDS];
	size_t top;
	struct user_frame frames[FRAMES]; /* leaf last */
	u32 nr;
};

static struct built_chunk chunk;

static struct chunk_code code;
static struct hotspot jvm = { .interpreter_start = INTERPRETER,
			      .interpreter_end = INTERPRETER + 0x1000 };

static int setup(void **state)
{
	for (u32 i = 1; i < SIZES; i++) {
		vec_push(&code.blobs, (struct chunk_blob){ .addr = CODE,
							   .code_start = CODE,
							   .code_end = CODE + 0x1000,
							   .compile_id = i,
							   .frame_size = i + 1,
							   .kind = USER_FRAME_COMPILED });
		*dict_add(&code.by_pc, CODE + i) = code.blobs.nr;
	}
	return 0;
}

static int teardown(void **state)
{
	chunk_code_fini(&code);
	return 0;
}

static void begin(void)
{
	for (size_t i = 0; i < WORDS; i++)
		chunk.at[i] = (u64)lrand48() << 32 | (u64)lrand48();
	chunk.top = WORDS;
	chunk.nr = 0;
}

/* A compiled frame: its words, the last two of which are the caller's fp and return address. */
static void add_compiled(u32 size, u64 pc)
{
	chunk.top -= size;
	chunk.at[chunk.top - 1] = pc;
	chunk.frames[chunk.nr++] =
		(struct user_frame){ pc, (u64)USER_FRAME_COMPILED << USER_FRAME_KIND_SHIFT |
						 (pc - CODE) << USER_FRAME_ID_SHIFT | (pc - CODE) };
}

/*
 * An interpreted frame: locals, return address, saved fp at `fp`, sender sp (-1), last sp (-2),
 * Method (-3), .., locals (-7), bytecode (-8), expressions. The words below the frame have its own
 * pc and the distance to its fp.
 */
static void add_interpreted(u32 nr_locals, u32 nr_words, u64 method, u64 bytecode)
{
	size_t locals = chunk.top - 1, fp = chunk.top - nr_locals - 2;

	u64 link = chunk.at[chunk.top - 2] + (chunk.top - 2) - fp;

	chunk.at[fp + 1] = chunk.at[chunk.top - 1]; /* of the caller */
	chunk.at[fp] = link;
	chunk.at[fp - 1] = chunk.top - fp;
	chunk.at[fp - 3] = method;
	chunk.at[fp - 7] = locals - fp;
	chunk.at[fp - 8] = bytecode;
	chunk.top = fp - 8 - nr_words;
	chunk.at[chunk.top - 1] = INTERPRETER + 8;
	chunk.at[chunk.top - 2] = fp - (chunk.top - 2);
	chunk.frames[chunk.nr++] =
		(struct user_frame){ method, (u64)USER_FRAME_INTERPRETED << USER_FRAME_KIND_SHIFT |
						     bytecode };
}

static bool walk(struct user_frame *out, u32 *nr_out)
{
	size_t nr = WORDS - chunk.top + CHUNK_METADATA_WORDS;
	u64 *words = xmalloc(nr * 8); /* exactly: the sanitizer sees reads beyond */

	*nr_out = 0;
	memcpy(words, chunk.at + chunk.top - CHUNK_METADATA_WORDS, nr * 8);
	bool is_whole = chunk_walk(&code, &jvm, words, nr, out, FRAMES, nr_out);
	free(words);
	return is_whole;
}

static void fill_randomly(void)
{
	u32 nr = 1 + (u32)lrand48() % (FRAMES - 1);

	begin();
	for (u32 i = 0; i < nr; i++) {
		/* The bottom frame is that of Continuation.enter, never a tiny one. */
		u32 size = (i ? 1 : 4) + (u32)lrand48() % (SIZES - 4);
		/* A compiled caller of an interpreted frame may have taken arguments: not here. */
		if (lrand48() & 1)
			add_compiled(size + 1, CODE + size);
		else
			add_interpreted((u32)lrand48() % 6, (u32)lrand48() % 6, METHODS + 8 * i,
					0x500 + i);
	}
}

static void frames_of_a_chunk_are_found_in_order(void **state)
{
	struct user_frame found[FRAMES];
	u32 nr;

	for (int round = 0; round < 5000; round++) {
		fill_randomly();
		assert_true(walk(found, &nr));
		assert_int_equal(nr, chunk.nr);
		for (u32 i = 0; i < nr; i++) {
			assert_int_equal(found[i].addr, chunk.frames[nr - 1 - i].addr);
			assert_int_equal(found[i].info, chunk.frames[nr - 1 - i].info);
		}
	}
}

/* A word that is wrong may change frames or end the walk, and no more. */
static void chunks_with_wrong_words_are_bounded(void **state)
{
	const u64 wild[] = {
		0, 1, 7, WORDS, INT64_MAX, UINT64_MAX, UINT64_MAX - 7, CODE + 5, INTERPRETER + 1
	};
	struct user_frame found[FRAMES];
	u32 nr;

	for (int round = 0; round < 5000; round++) {
		fill_randomly();
		for (int i = 0; i < 3; i++)
			chunk.at[chunk.top - 2 + (size_t)lrand48() % (WORDS - chunk.top + 2)] =
				wild[(size_t)lrand48() % ARRAY_SIZE(wild)];
		walk(found, &nr);
		assert_true(nr <= FRAMES);
	}
}

static void a_chunk_that_is_cut_is_not_whole(void **state)
{
	struct user_frame found[FRAMES];
	u32 nr;

	begin();
	for (u32 i = 0; i < 8; i++)
		add_compiled(9, CODE + 8);
	size_t words = WORDS - chunk.top + CHUNK_METADATA_WORDS;
	u64 *copy = chunk.at + chunk.top - CHUNK_METADATA_WORDS;
	for (size_t off = 3; off < 7; off++) {
		nr = 0;
		assert_false(chunk_walk(&code, &jvm, copy, words - off, found, FRAMES, &nr));
	}
	nr = 0;
	assert_false(chunk_walk(&code, &jvm, copy, words, found, 4, &nr));
	assert_int_equal(nr, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_a_chunk_are_found_in_order),
		cmocka_unit_test(chunks_with_wrong_words_are_bounded),
		cmocka_unit_test(a_chunk_that_is_cut_is_not_whole),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
