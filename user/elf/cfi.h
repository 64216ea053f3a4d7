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
#include "elf/cursor.h"

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

/* Where the caller's value of a register is. RULE_OTHER: rows cannot express it. */
enum rule_how {
	RULE_UNSET, /* for the frame pointer: unchanged */
	RULE_UNDEFINED,
	RULE_AT_CFA,      /* saved at CFA + off */
	RULE_AT_FP,       /* saved at *fp */
	RULE_IN_REGISTER, /* in register `off`; for the return address only */
	RULE_CFA,         /* the CFA itself */
	RULE_OTHER,
};

enum cfa_how {
	CFA_UNSET,
	CFA_REG,      /* reg + off */
	CFA_PLT,      /* the expression of .plt; see ROW_PLT */
	CFA_FP_DEREF, /* *(fp + deref_off) */
	CFA_SP_DEREF, /* *(sp + deref_off) + add */
	CFA_OTHER,
};

/* The tracked registers, as indices of cfi_rules.regs. */
enum tracked {
	TRACKED_SP,
	TRACKED_FP,
	TRACKED_RA,
	NR_TRACKED,
};

struct cfi_rules {
	enum cfa_how cfa;
	u64 cfa_reg; /* DWARF number of the register */
	s64 cfa_off; /* a CFA expression leaves it unchanged; a later register rule uses it */
	s64 deref_off, cfa_add;
	struct {
		enum rule_how how;
		s64 off;
	} regs[NR_TRACKED];
};

struct cfi_cie {
	const struct cfi_section *section;
	/* offset offset of its length field in the section, by which FDEs refer to the CIE */
	u64 off;
	bool is_readable; /* if false, FDEs that refer to this CIE are skipped */
	bool is_runnable; /* if false, rows of its FDEs are ROW_UNSUPPORTED */
	bool has_augmentation, is_signal;
	u8 encoding; /* of the pointers in its FDEs */
	u64 code_align;
	s64 data_align;
	struct cfi_rules initial;
};

/* The DWARF number of the return address column, which a CIE must name. */
u64 cfi_return_register(void);

/* Runs the CIE's own instructions, from `c` to its end, and stores the resulting rules. */
void cfi_run_cie(struct cfi *cfi, struct cfi_cie *cie, const struct cursor *c);

/*
 * Calls `add` with the rule of each piece of [fde->start, end), in ascending order. The first piece
 * begins at fde->start; adjacent rules may be equal. `end` is at most fde->end.
 */
typedef void cfi_add_fn(void *ctx, struct unwind_row row);
void cfi_run(struct cfi *cfi, const struct cfi_fde *fde, u32 end, cfi_add_fn *add, void *ctx);
