/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads call frame information, .eh_frame and .debug_frame. Runs its instructions as far as unwind
 * rows need them: the CFA, the saved frame pointer, the return address. Layout: DWARF 5 section
 * 6.4; .eh_frame: Linux Standard Base, Core, "Exception Frames".
 *
 * The input may be hostile. The work is linear in its size. Entries that cannot be understood
 * become ROW_UNSUPPORTED and are counted.
 */
#pragma once

#include "abi.h"
#include "base/types.h"
#include "base/vec.h"

#define CFI_SECTION_MAX (64u << 20) /* bytes */
#define CFI_CIES_MAX    (256u << 10)
#define CFI_FDES_MAX    (2u << 20)

struct cfi_section {
	const u8 *data; /* owned by the caller; must outlive the struct cfi */
	size_t size;
	u64 vaddr; /* of data[0] */
	bool is_debug_frame;
};

/* One function's entry. Its range counts from cfi.base. */
struct cfi_fde {
	u32 start, end;           /* [start, end), never empty */
	u32 cie;                  /* index in cfi.cies */
	u32 insns, nr_insn_bytes; /* in the section */
};

struct cfi {
	u64 base;
	u32 size; /* entries that begin outside [base, base + size) are skipped */
	VEC(struct cfi_cie) cies;
	VEC(struct cfi_fde) fdes; /* in the order of the input */
	u32 nr_malformed;         /* unreadable entries, and functions whose end is unreadable */
	u32 nr_unknown_ops;
};

/*
 * Adds the entries of a section. Returns -EFBIG if the section or the number of entries exceeds its
 * limit.
 */
int cfi_read(struct cfi *cfi, const struct cfi_section *section);

/* Whether the entry comes from .debug_frame. */
bool cfi_fde_is_debug(const struct cfi *cfi, const struct cfi_fde *fde);

void cfi_fini(struct cfi *cfi);
