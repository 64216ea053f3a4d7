/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads call frame information, .eh_frame and .debug_frame, and runs its instructions as far as
 * unwind rows need them: the CFA, the saved frame pointer, the return address.
 * Layout: DWARF 5 section 6.4; .eh_frame: Linux Standard Base, Core, "Exception Frames".
 *
 * The input may be hostile: the work is linear in its size, and what cannot be understood becomes
 * ROW_UNSUPPORTED and is counted.
 */
#pragma once

#include "abi.h"
#include "base/types.h"
#include "base/vec.h"

#define CFI_SECTION_MAX (64u << 20) /* bytes */
#define CFI_CIES_MAX    (256u << 10)
#define CFI_FDES_MAX    (2u << 20)

struct cfi_section {
	const u8 *data; /* the caller's, for as long as the struct cfi lives */
	size_t size;
	u64 vaddr; /* of data[0] */
	bool is_debug_frame;
};

/* One function's entry, its range counted from cfi.base. */
struct cfi_fde {
	u32 start, end;           /* [start, end), never empty */
	u32 cie;                  /* index in cfi.cies */
	u32 insns, nr_insn_bytes; /* in the section */
};

struct cfi {
	u64 base;
	u32 size; /* entries that begin outside [base, base + size) are left out */
	VEC(struct cfi_cie) cies;
	VEC(struct cfi_fde) fdes; /* as they were found */
	u32 nr_malformed; /* entries that could not be read, functions whose end could not */
	u32 nr_unknown_ops;
};

/* Adds the entries of a section; -EFBIG if it or their number is over its bound. */
int cfi_read(struct cfi *cfi, const struct cfi_section *section);

/* Whether the entry comes from .debug_frame. */
bool cfi_fde_is_debug(const struct cfi *cfi, const struct cfi_fde *fde);

/*
 * Calls `add` with the rule of each piece of [fde->start, end) in ascending order, the first one
 * at fde->start; neighbours may be equal. `end` is at most fde->end.
 */
typedef void cfi_add_fn(void *ctx, struct unwind_row row);
void cfi_run(struct cfi *cfi, const struct cfi_fde *fde, u32 end, cfi_add_fn *add, void *ctx);
void cfi_fini(struct cfi *cfi);

/*
 * A pointer in the encoding `encoding` (DW_EH_PE_*), that lies at `at_vaddr`; false if it is cut
 * or in an encoding other than absolute and pc-relative.
 */
struct cursor;
bool cfi_pointer(struct cursor *c, u8 encoding, u64 at_vaddr, u64 *out);
