/* SPDX-License-Identifier: Apache-2.0 */
/* Assembles call frame information by hand and compares the resulting rows. */
#pragma once

#include <string.h>

#include "test.h"

#include "elf/rows.h"

#define TEST_BASE  0x400000u
#define TEST_IMAGE 0x100000u /* bytes */
#define TEST_START 0x1000u   /* start of the function, from TEST_BASE */
#define TEST_LEN   0x100u

struct cfi_bytes {
	u8 at[4096];
	size_t nr;
	u32 entry; /* entry point of the image, from TEST_BASE; 0 if none */
};

#define BYTES(...) (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ })

static inline void put(struct cfi_bytes *b, const u8 *bytes, size_t len)
{
	assert_true(len <= sizeof(b->at) - b->nr);
	memcpy(b->at + b->nr, bytes, len);
	b->nr += len;
}

static inline void put_u32(struct cfi_bytes *b, u32 value)
{
	put(b, (const u8 *)&value, sizeof(value));
}

/* Adds an entry: its length, its id and its body. Returns its offset. */
static inline u32 put_entry(struct cfi_bytes *b, u32 id, const u8 *body, size_t len)
{
	u32 off = (u32)b->nr;

	put_u32(b, (u32)len + 4);
	put_u32(b, id);
	put(b, body, len);
	return off;
}

/*
 * Adds a CIE of .eh_frame with absolute 32-bit pointers, code alignment 1 and data alignment -8.
 * Initially CFA = rsp + 8, and the return address is at CFA - 8.
 */
static inline u32 put_cie(struct cfi_bytes *b)
{
	return put_entry(b, 0, BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1));
}

/* Adds a function with put_cie's CIE. `start` counts from TEST_BASE. */
static inline void put_fde(struct cfi_bytes *b, u32 cie, u32 start, u32 len, const u8 *insns,
			   size_t nr_insns)
{
	struct cfi_bytes body = { .nr = 0 };

	put_u32(&body, TEST_BASE + start);
	put_u32(&body, len);
	put(&body, BYTES(0));
	put(&body, insns, nr_insns);
	put_entry(b, (u32)b->nr + 4 - cie, body.at, body.nr);
}

static inline int compile_bytes(const struct cfi_bytes *b, struct rows *out)
{
	/* A heap copy of the exact size: the sanitizer then detects a read past the end. */
	u8 *data = xmemdup(b->at, b->nr);
	const struct cfi_input input = {
		.sections = { { .data = data, .size = b->nr, .vaddr = TEST_BASE + 0x80000 } },
		.nr = 1,
		.base = TEST_BASE,
		.size = TEST_IMAGE,
		.entry = b->entry,
	};

	int err = rows_compile(&input, out);
	free(data);
	return err;
}

#define EXPECT_ROWS(rows, ...)                                        \
	expect_rows(rows, (const struct unwind_row[]){ __VA_ARGS__ }, \
		    ARRAY_SIZE(((const struct unwind_row[]){ __VA_ARGS__ })))

/* Expects rows of {pc, CFA in words, kind, fp in words}. Releases `rows`. */
static inline void expect_rows(struct rows *rows, const struct unwind_row *want, size_t nr)
{
	bool is_same = rows->nr == nr && !memcmp(rows->at, want, nr * sizeof(*want));

	for (u32 i = 0; i < rows->nr && !is_same; i++) {
		const struct unwind_row *r = &rows->at[i];
		print_message("# got %#x: cfa %d kind %u fp %d\n", r->pc, (s16)r->cfa_off, r->kind,
			      r->fp_off);
	}
	assert_true(is_same);
	rows_fini(rows);
}
