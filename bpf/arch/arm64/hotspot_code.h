/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Patterns of HotSpot's code around the pc of a leaf, arm64. All instructions have four bytes, so
 * the code before the pc decodes as exactly as the code behind it.
 */
#pragma once

#include "unwind/walk.h"

#define CALL_BYTES 4 /* read before a return address */

/* Whether the code before a return address is a call: bl, or blr. */
static __always_inline bool is_behind_call(const u8 before[CALL_BYTES])
{
	u32 code = before[0] | before[1] << 8 | before[2] << 16 | (u32)before[3] << 24;

	return code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000;
}

#define PROLOGUE_INSNS 32 /* before the pc; prologues are shorter */
#define EPILOGUE_INSNS 6  /* a poll, and ret */

/* Where a leaf's frame record, saved fp and return address, is. */
enum shape {
	SHAPE_BODY,  /* at the frame's upper end */
	SHAPE_LINK,  /* in x29 and x30, and sp is the caller's */
	SHAPE_MOVED, /* in x29 and x30, and sp has moved by the frame's size */
	SHAPE_AT_SP, /* at sp */
};

static __always_inline bool is_sub_sp(u32 code) /* sub sp, sp, #imm, or a register */
{
	return (code & 0xff8003ff) == 0xd10003ff || (code & 0xffe0ffff) == 0xcb2063ff;
}

static __always_inline bool is_add_sp(u32 code) /* add sp, sp, #imm, or a register */
{
	return (code & 0xff8003ff) == 0x910003ff || (code & 0xffe0ffff) == 0x8b2063ff;
}

static __always_inline bool is_store_record(u32 code) /* stp x29, x30, [sp, #imm] */
{
	return (code & 0xffc07fff) == 0xa9007bfd;
}

static __always_inline bool is_push_record(u32 code) /* stp x29, x30, [sp, #-16]! */
{
	return code == 0xa9bf7bfd;
}

static __always_inline bool is_load_record(u32 code) /* ldp x29, x30, [sp, #imm] */
{
	return (code & 0xffc07fff) == 0xa9407bfd;
}

static __always_inline bool is_pop_record(u32 code) /* ldp x29, x30, [sp], #16 */
{
	return code == 0xa8c17bfd;
}

#define RET 0xd65f03c0

/*
 * Instructions between the end of a frame and ret: a poll, or a check for an exception.
 *	11: ldr xN, [x28, #off]; tbnz; or adrp; ldr wzr, [xN]
 *	17+: ldr xN, [x28, #off]; cmp sp, xN; b.hi
 *	native wrapper: ldr xN, [x28, #off]; cbnz
 */
static __always_inline bool is_before_ret(u32 code)
{
	return (code & 0xffc003e0) == 0xf9400380 || (code & 0xffe0ffe0) == 0xeb2063e0 ||
	       (code & 0xff000010) == 0x54000000 || (code & 0xfffffc1f) == 0xb940001f ||
	       (code & 0x9f000000) == 0x90000000 || (code & 0x7e000000) == 0x36000000 ||
	       (code & 0x7e000000) == 0x34000000 || (code & 0xfffff01f) == 0xd503201f;
}

/* The instruction `at` instructions from the pc; see walk_read_code. */
static __always_inline u32 insn(const struct walk *w, u32 at)
{
	keep_as_written(at); /* the verifier needs the mask */
	return ((const u32 *)w->words)[at & (2 * WALK_WORDS - 1)];
}
