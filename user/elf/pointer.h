/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers of .eh_frame in their encodings DW_EH_PE_*: LSB Core, "DWARF Exception Header Encoding".
 */
#pragma once

#include "base/types.h"
#include "elf/cursor.h"

#define POINTER_ABSOLUTE    0x00
#define POINTER_PC_RELATIVE 0x10 /* a bit */
#define POINTER_OMITTED     0xff

/*
 * Reads a pointer that lies at `at_vaddr`. Returns false if it is cut off or neither absolute nor
 * pc-relative.
 */
bool pointer_read(struct cursor *c, u8 encoding, u64 at_vaddr, u64 *out);

/* Reads a number in the format of a pointer, such as the length behind it. */
bool pointer_read_number(struct cursor *c, u8 encoding, u64 *out);

/* Skips a pointer. Returns false if its length is unknown. */
bool pointer_skip(struct cursor *c, u8 encoding);
