/* SPDX-License-Identifier: Apache-2.0 */
/* Between cfi.c, which reads entries, and cfi_run.c, which runs their instructions. */
#pragma once

#include "elf/cfi.h"
#include "elf/cursor.h"

/* Where a register of the caller is; what rows cannot express is RULE_OTHER. */
enum rule_how {
	RULE_UNSET, /* for the frame pointer: unchanged */
	RULE_UNDEFINED,
	RULE_AT_CFA, /* saved at CFA + off */
	RULE_AT_FP,  /* saved at *fp */
	RULE_OTHER,
};

enum cfa_how {
	CFA_UNSET,
	CFA_REG,      /* reg + off */
	CFA_PLT,      /* the expression of .plt, see ROW_PLT */
	CFA_FP_DEREF, /* *(fp + deref_off) */
	CFA_SP_DEREF, /* *(sp + deref_off) + add */
	CFA_OTHER,
};

/* The registers that matter, as indices of cfi_rules.regs. */
enum tracked {
	TRACKED_SP,
	TRACKED_FP,
	TRACKED_RA,
	NR_TRACKED,
};

struct cfi_rules {
	enum cfa_how cfa;
	u64 cfa_reg; /* its DWARF number */
	s64 cfa_off; /* kept by expressions: a register that follows them takes it */
	s64 deref_off, cfa_add;
	struct {
		enum rule_how how;
		s64 off;
	} regs[NR_TRACKED];
};

struct cfi_cie {
	const struct cfi_section *section;
	u64 off;          /* of its length field in the section: the name FDEs use */
	bool is_readable; /* otherwise FDEs that refer to it are skipped */
	bool is_runnable; /* otherwise its FDEs are ROW_UNSUPPORTED */
	bool has_augmentation, is_signal;
	u8 encoding; /* of the pointers in its FDEs */
	u64 code_align;
	s64 data_align;
	struct cfi_rules initial;
};

/* DWARF's number of the return address column: what a CIE must name. */
u64 cfi_return_register(void);

/* Runs the CIE's own instructions, from `c` to its end, and keeps their outcome. */
void cfi_run_cie(struct cfi *cfi, struct cfi_cie *cie, const struct cursor *c);
