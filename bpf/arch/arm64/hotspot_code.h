/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Patterns of HotSpot's code, arm64. */
#pragma once

#include "unwind/walk.h"

#define CALL_BYTES 4 /* read before a return address */

/* Whether the code before a return address is a call: bl, or blr. */
static __always_inline bool is_behind_call(const u8 before[CALL_BYTES])
{
	u32 code = before[0] | before[1] << 8 | before[2] << 16 | (u32)before[3] << 24;

	return code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000;
}
