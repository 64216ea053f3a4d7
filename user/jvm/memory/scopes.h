/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the debug information of compiled code: PcDesc (code/pcDesc.hpp), scopes
 * (code/scopeDesc.cpp, debugInfoRec.cpp) and the compressed line table (oops/constMethod.hpp).
 * Works on copies and checks every offset in them.
 */
#pragma once

#include "base/types.h"

/* A PcDesc; the layout in memory is the same in all JVM versions. */
struct pc_desc {
	s32 pc_offset;    /* from the start of the code */
	s32 scope_offset; /* in the scopes data; <= 0: none */
	s32 object_offset, flags;
};

/* A method of the inlining at a pc, or the physical method. */
struct scope {
	u32 method_index; /* 1-based in the nmethod's metadata; 0: none */
	s32 bci;          /* -1: at the method's entry */
};

/*
 * The first descriptor with a scope at or above `pc_offset`, which is HotSpot's own rule; NULL if
 * there is none. The descriptor is exact at return addresses of calls that record debug
 * information.
 */
const struct pc_desc *scopes_find(const struct pc_desc *descs, size_t nr, s32 pc_offset);

/*
 * The scopes from the one at `offset`, the innermost, to the physical method. Returns their number
 * (at most `max`, the innermost ones), or -EBADMSG for damaged data. `excludes_zero`: the encoding
 * of JDK 20 and later, which has no zero bytes.
 */
int scopes_decode(const u8 *data, size_t len, u32 offset, bool excludes_zero, struct scope out[],
		  int max);

/* Reads one UNSIGNED5 number at *at and advances *at; false at the end of the data. */
bool unsigned5_read(const u8 *data, size_t len, size_t *at, bool excludes_zero, u32 *out);

/* The source line of `bci` in a compressed line table; 0 if unknown. */
u32 line_table_find(const u8 *table, size_t len, bool excludes_zero, s32 bci);

/* The length of the table at `table`, without its final 0; at most `len`. */
size_t line_table_length(const u8 *table, size_t len, bool excludes_zero);
