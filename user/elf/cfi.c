/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the entries of call frame information, CIEs and FDEs, and runs their instructions: DWARF 5
 * section 6.4.2 and GNU's additions.
 */
#include "elf/cfi.h"

#include <errno.h>
#include <string.h>

#include "elf/cursor.h"

enum {
	CFA_ADVANCE_LOC = 0x40, /* the first three have an operand in their low 6 bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_NEGATE_RA_STATE =
		0x2d, /* arm64: the return address is signed from here on, or no longer */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum {
	OP_DEREF = 0x06,
	OP_PLUS_UCONST = 0x23,
	OP_BREG0 = 0x70, /* the opcode is OP_BREG0 + register; an offset follows */
};

#define STATES_MAX 16 /* limit of remember_state; compilers nest it 1 deep */

static const u64 dwarf_numbers[NR_TRACKED] = {
	[TRACKED_SP] = DWARF_SP,
	[TRACKED_FP] = DWARF_FP,
	[TRACKED_RA] = DWARF_RA,
};

/* Whether calls leave the return address in a register, and functions save it beside fp. */
#define HAS_LINK (CALL_PUSHES == 0)

u64 cfi_return_register(void)
{
	return dwarf_numbers[TRACKED_RA];
}

struct run {
	struct cfi *cfi;
	const struct cfi_cie *cie;
	const struct cfi_rules *initial; /* NULL while the CIE's own instructions run */
	struct cursor insns;
	struct cfi_rules now;
	struct cfi_rules *remembered; /* room for STATES_MAX */
	unsigned nr_remembered;
	u64 loc, end; /* from cfi->base */
	cfi_add_fn *add;
	void *ctx;
};

/* Wraps around on overflow. */
static s64 scaled(u64 factor, s64 align)
{
	return (s64)(factor * (u64)align);
}

/* Recognises the registers that the kernel saves for rt_sigreturn: rsp is 40 + 15 words up. */
static bool is_signal_frame(const struct cfi_rules *r)
{
	return r->cfa == CFA_SP_DEREF && r->deref_off == 160 && r->cfa_add == 0;
}

/*
 * Encodes a CFA of a register plus words. For a leaf the unwinder has more registers than sp and
 * fp.
 */
static bool register_to_row(u64 reg, s64 words, struct unwind_row *row)
{
	if (reg == dwarf_numbers[TRACKED_SP] || reg == dwarf_numbers[TRACKED_FP]) {
		row->kind = reg == dwarf_numbers[TRACKED_SP] ? ROW_SP : ROW_FP;
		row->cfa_off = (u16)words;
		return words == (u16)words;
	}
	row->kind = ROW_REGISTER;
	row->cfa_off = (u16)(reg << ROW_REGISTER_SHIFT | (u64)words);
	return reg < 16 && DWARF_LEAF >> reg & 1 && words >= 0 &&
	       words <= (s64)ROW_REGISTER_WORDS_MAX;
}

/* Sets the kind and the CFA. Returns false if rows cannot express them. */
static bool cfa_to_row(const struct cfi_rules *r, struct unwind_row *row)
{
	s64 off = r->cfa == CFA_REG ? r->cfa_off : r->deref_off, words = off / 8;
	bool is_aligned = off % 8 == 0;

	row->cfa_off = (u16)words;
	switch (r->cfa) {
	case CFA_REG:
		return is_aligned && register_to_row(r->cfa_reg, words, row);
	case CFA_FP_DEREF:
		row->kind = ROW_FP_DEREF;
		return is_aligned && words == (s16)words;
	case CFA_SP_DEREF:
		row->kind = ROW_SP_DEREF;
		return is_aligned && words == (s16)words && r->cfa_add == 8;
	case CFA_PLT:
		row->kind = ROW_PLT;
		row->cfa_off = 0;
		return true;
	default:
		return false;
	}
}

/* Sets the saved frame pointer. Returns false if the row's kind cannot express it. */
static bool fp_to_row(const struct cfi_rules *r, struct unwind_row *row)
{
	s64 off = r->regs[TRACKED_FP].off, words = off / 8;

	if (row->kind == ROW_FP_DEREF)
		return r->regs[TRACKED_FP].how == RULE_AT_FP;
	if (r->regs[TRACKED_FP].how == RULE_UNSET)
		return true;
	if (r->regs[TRACKED_FP].how != RULE_AT_CFA || row->kind == ROW_PLT)
		return false;
	row->fp_off = (s8)words;
	return off % 8 == 0 && words < 0 && words == (s8)words;
}

/* Encodes a return address in a register of a leaf: glibc's vfork, which shares its stack. */
static bool in_register_to_row(const struct cfi_rules *r, struct unwind_row *row)
{
	u64 reg = (u64)r->regs[TRACKED_RA].off;
	s64 words = r->cfa_off / 8;

	row->kind = ROW_IN_REGISTER;
	row->cfa_off = (u16)(reg << ROW_REGISTER_SHIFT | (u64)words);
	return r->cfa == CFA_REG && r->cfa_reg == dwarf_numbers[TRACKED_SP] &&
	       r->cfa_off % 8 == 0 && words >= 0 && words <= (s64)ROW_REGISTER_WORDS_MAX &&
	       reg < 16 && DWARF_LEAF >> reg & 1 && r->regs[TRACKED_SP].how == RULE_UNSET &&
	       fp_to_row(r, row);
}

/* The place of saved registers as fp_off (struct unwind_row). Returns false if there is no room. */
static bool link_to_row(const struct cfi_rules *r, s64 off, struct unwind_row *row)
{
	s64 words = off / 8, up = r->cfa_off / 8 + words + 1;

	if (off % 8 || words >= 0)
		return false;
	row->fp_off = (s8)(words == (s8)words ? words : up);
	return words == (s8)words || (up > 0 && up == (s8)up);
}

/* A row of a machine whose calls leave the return address in a register. */
static bool linked_to_row(const struct cfi_rules *r, struct unwind_row *row)
{
	bool has_fp = r->regs[TRACKED_FP].how == RULE_AT_CFA;

	if (r->cfa != CFA_REG || !cfa_to_row(r, row) ||
	    (r->regs[TRACKED_SP].how != RULE_UNSET && r->regs[TRACKED_SP].how != RULE_CFA) ||
	    (!has_fp && r->regs[TRACKED_FP].how != RULE_UNSET))
		return false;
	if (r->regs[TRACKED_RA].how == RULE_UNSET)
		return !has_fp;
	if (r->regs[TRACKED_RA].how != RULE_AT_CFA)
		return false;
	if (has_fp)
		return r->regs[TRACKED_RA].off == r->regs[TRACKED_FP].off + 8 &&
		       link_to_row(r, r->regs[TRACKED_FP].off, row);
	if (row->kind != ROW_SP)
		return false;
	row->kind = ROW_LINK;
	return link_to_row(r, r->regs[TRACKED_RA].off, row);
}

static struct unwind_row row_of(const struct cfi_rules *r, bool is_signal)
{
	const struct unwind_row unsupported = { .kind = ROW_UNSUPPORTED };
	struct unwind_row row = { 0 };

	if (r->regs[TRACKED_RA].how == RULE_UNDEFINED)
		return (struct unwind_row){ .kind = ROW_END };
	if (is_signal)
		return HAS_LINK || is_signal_frame(r) ? (struct unwind_row){ .kind = ROW_SIGNAL }
						      : unsupported;
	if (HAS_LINK)
		return linked_to_row(r, &row) ? row : unsupported;
	/*
	 * Every kind assumes that the return address is at CFA - 8 and that the caller's sp is the
	 * CFA.
	 */
	if (r->regs[TRACKED_RA].how == RULE_IN_REGISTER)
		return in_register_to_row(r, &row) ? row : unsupported;
	if (r->regs[TRACKED_RA].how != RULE_AT_CFA || r->regs[TRACKED_RA].off != -8 ||
	    (r->regs[TRACKED_SP].how != RULE_UNSET && r->regs[TRACKED_SP].how != RULE_CFA))
		return unsupported;
	if (!cfa_to_row(r, &row) || !fp_to_row(r, &row))
		return unsupported;
	if (row.kind == ROW_FP && r->regs[TRACKED_SP].how == RULE_CFA)
		row.kind = ROW_SWITCH;
	return row;
}

static void add_row(struct run *r)
{
	struct unwind_row row = row_of(&r->now, r->cie->is_signal);

	row.pc = (u32)r->loc;
	r->add(r->ctx, row);
}

/* Ends the current piece at `to`. Returns false at the function's end or if `to` is a step back. */
static bool advance_to(struct run *r, u64 to)
{
	if (!r->initial || to < r->loc)
		return false;
	if (to > r->loc)
		add_row(r);
	r->loc = to;
	return to < r->end;
}

static bool advance_by(struct run *r, u64 factor)
{
	u64 delta = factor * r->cie->code_align;

	return advance_to(r, delta > r->end - r->loc ? r->end : r->loc + delta);
}

static bool set_loc(struct run *r)
{
	const struct cfi_section *s = r->cie->section;
	u64 to;

	if (!pointer_read(&r->insns, r->cie->encoding, s->vaddr + (u64)(r->insns.at - s->data),
			  &to))
		return false;
	to -= r->cfi->base;
	return advance_to(r, to > r->end ? r->end : to);
}

static void set_rule(struct run *r, u64 number, enum rule_how how, s64 off)
{
	for (int i = 0; i < NR_TRACKED; i++) {
		if (dwarf_numbers[i] == number) {
			r->now.regs[i].how = how;
			r->now.regs[i].off = off;
		}
	}
}

static void restore(struct run *r, u64 number)
{
	static const struct cfi_rules unset;
	const struct cfi_rules *initial = r->initial ?: &unset;

	for (int i = 0; i < NR_TRACKED; i++) {
		if (dwarf_numbers[i] == number)
			r->now.regs[i] = initial->regs[i];
	}
}

/* Returns the bytes of an expression as a cursor. */
static struct cursor read_block(struct run *r)
{
	u64 len = cursor_uleb(&r->insns);
	const u8 *bytes = cursor_skip(&r->insns, len);

	return (struct cursor){ .at = bytes, .end = bytes ? bytes + len : NULL };
}

/* Reads "register + offset" if the expression begins with it. */
static bool take_register(struct cursor *expr, enum tracked reg, s64 *off)
{
	if (cursor_u8(expr) != OP_BREG0 + dwarf_numbers[reg])
		return false;
	*off = cursor_sleb(expr);
	return !expr->is_bad;
}

/* Reads "*(register + offset)", for the stack pointer also with "+ constant" after it. */
static bool take_deref(struct cursor c, enum tracked reg, struct cfi_rules *now)
{
	if (!take_register(&c, reg, &now->deref_off) || cursor_u8(&c) != OP_DEREF)
		return false;
	now->cfa_add = 0;
	if (reg == TRACKED_SP && c.at < c.end) {
		if (cursor_u8(&c) != OP_PLUS_UCONST)
			return false;
		now->cfa_add = (s64)cursor_uleb(&c);
	}
	return c.at == c.end && !c.is_bad;
}

static void set_cfa_expression(struct run *r)
{
	/* rsp + 8 + ((rip & 15) >= 11) * 8, as GNU ld writes it for .plt */
	static const u8 plt[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	struct cursor expr = read_block(r);
	size_t len = (size_t)(expr.end - expr.at);

	if (len == sizeof(plt) && !memcmp(expr.at, plt, len))
		r->now.cfa = CFA_PLT;
	else if (take_deref(expr, TRACKED_SP, &r->now))
		r->now.cfa = CFA_SP_DEREF;
	else if (take_deref(expr, TRACKED_FP, &r->now))
		r->now.cfa = CFA_FP_DEREF;
	else
		r->now.cfa = CFA_OTHER;
}

static void set_expression(struct run *r)
{
	u64 number = cursor_uleb(&r->insns);
	struct cursor expr = read_block(r);
	s64 off;

	bool is_at_fp = take_register(&expr, TRACKED_FP, &off) && off == 0 && expr.at == expr.end;
	set_rule(r, number, is_at_fp ? RULE_AT_FP : RULE_OTHER, 0);
}

static void set_cfa(struct run *r, u64 reg, s64 off)
{
	r->now.cfa = CFA_REG;
	r->now.cfa_reg = reg;
	r->now.cfa_off = off;
}

/*
 * After an expression a register rule ends it and keeps the offset from before the expression. An
 * offset rule applies to such a later register. libgcc does this, and libgcrypt relies on it.
 */
static bool step_cfa(struct run *r, u8 op)
{
	struct cursor *c = &r->insns;
	s64 align = r->cie->data_align;
	u64 reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb(c);
		set_cfa(r, reg, (s64)cursor_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(c);
		set_cfa(r, reg, scaled((u64)cursor_sleb(c), align));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		set_cfa_expression(r);
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(r, cursor_uleb(c), r->now.cfa_off);
		return true;
	case CFA_DEF_CFA_OFFSET:
		r->now.cfa_off = (s64)cursor_uleb(c);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		r->now.cfa_off = scaled((u64)cursor_sleb(c), align);
		return true;
	}
	r->cfi->nr_unknown_ops++;
	return false;
}

/* Whether "same value" is the same as no rule. */
static bool is_kept(u64 number)
{
	return number == DWARF_FP || (HAS_LINK && number == DWARF_RA);
}

static bool step_register(struct run *r, u8 op)
{
	struct cursor *c = &r->insns;
	s64 align = r->cie->data_align;
	u64 number;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		number = cursor_uleb(c);
		set_rule(r, number, RULE_AT_CFA, scaled(cursor_uleb(c), align));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		number = cursor_uleb(c);
		set_rule(r, number, RULE_AT_CFA, scaled((u64)cursor_sleb(c), align));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		number = cursor_uleb(c);
		set_rule(r, number, RULE_AT_CFA, scaled(-cursor_uleb(c), align));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(r, cursor_uleb(c));
		return true;
	case CFA_UNDEFINED:
		set_rule(r, cursor_uleb(c), RULE_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		number = cursor_uleb(c);
		set_rule(r, number, is_kept(number) ? RULE_UNSET : RULE_OTHER, 0);
		return true;
	case CFA_EXPRESSION:
		set_expression(r);
		return true;
	case CFA_VAL_EXPRESSION:
		set_rule(r, cursor_uleb(c), RULE_OTHER, 0);
		read_block(r);
		return true;
	case CFA_VAL_OFFSET:
		number = cursor_uleb(c);
		set_rule(r, number, cursor_uleb(c) ? RULE_OTHER : RULE_CFA, 0);
		return true;
	case CFA_REGISTER:
		number = cursor_uleb(c);
		set_rule(r, number, RULE_IN_REGISTER, (s64)cursor_uleb(c));
		return true;
	case CFA_VAL_OFFSET_SF:
		set_rule(r, cursor_uleb(c), RULE_OTHER, 0);
		cursor_uleb(c);
		return true;
	}
	return step_cfa(r, op);
}

/*
 * Runs one instruction. Returns false at the function's end and at an instruction it does not
 * understand.
 */
static bool step(struct run *r)
{
	struct cursor *c = &r->insns;
	u8 op = cursor_u8(c), operand = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance_by(r, operand);
	case CFA_OFFSET:
		set_rule(r, operand, RULE_AT_CFA, scaled(cursor_uleb(c), r->cie->data_align));
		return true;
	case CFA_RESTORE:
		restore(r, operand);
		return true;
	}
	switch (op) {
	case CFA_NOP:
		return true;
	case CFA_SET_LOC:
		return set_loc(r);
	case CFA_ADVANCE_LOC1:
		return advance_by(r, cursor_u8(c));
	case CFA_ADVANCE_LOC2:
		return advance_by(r, cursor_uint(c, 2));
	case CFA_ADVANCE_LOC4:
		return advance_by(r, cursor_uint(c, 4));
	case CFA_REMEMBER_STATE:
		if (r->nr_remembered == STATES_MAX)
			return false;
		r->remembered[r->nr_remembered++] = r->now;
		return true;
	case CFA_RESTORE_STATE:
		if (r->nr_remembered == 0)
			return false;
		r->now = r->remembered[--r->nr_remembered];
		return true;
	case CFA_GNU_ARGS_SIZE:
		cursor_uleb(c);
		return true;
	case CFA_NEGATE_RA_STATE:
		if (HAS_LINK)
			return true;
		break;
	}
	return step_register(r, op);
}

/* Returns false at an instruction that it does not understand. `now` is then valid up to r->loc. */
static bool run_all(struct run *r)
{
	while (r->insns.at < r->insns.end && r->loc < r->end) {
		if (!step(r) && r->loc < r->end)
			return false;
		if (r->insns.is_bad)
			return false;
	}
	return true;
}

void cfi_run_cie(struct cfi *cfi, struct cfi_cie *cie, const struct cursor *c)
{
	struct cfi_rules remembered[STATES_MAX];
	struct run r = { .cfi = cfi, .cie = cie, .insns = *c, .remembered = remembered, .end = 1 };

	cie->is_runnable = run_all(&r);
	cie->initial = r.now;
	if (!cie->is_runnable)
		cfi->nr_malformed++;
}

void cfi_run(struct cfi *cfi, const struct cfi_fde *fde, u32 end, cfi_add_fn *add, void *ctx)
{
	const struct cfi_cie *cie = &cfi->cies.at[fde->cie];
	const u8 *insns = cie->section->data + fde->insns;
	struct cfi_rules remembered[STATES_MAX];
	struct run r = {
		.cfi = cfi,
		.cie = cie,
		.initial = &cie->initial,
		.insns = { .at = insns, .end = insns + fde->nr_insn_bytes },
		.now = cie->initial,
		.remembered = remembered,
		.loc = fde->start,
		.end = end,
		.add = add,
		.ctx = ctx,
	};

	if (cie->is_runnable && run_all(&r)) {
		if (r.loc < r.end)
			add_row(&r);
		return;
	}
	cfi->nr_malformed += cie->is_runnable;
	add(ctx, (struct unwind_row){ .pc = (u32)r.loc, .kind = ROW_UNSUPPORTED });
}

/* Skips the personality routine's address; only its length matters. */
static bool skip_personality(struct cursor *c)
{
	u8 encoding = cursor_u8(c);

	return encoding == POINTER_OMITTED || pointer_skip(c, encoding);
}

/*
 * Reads the data that the letters of the augmentation string announce. Returns false if a letter is
 * unknown.
 */
static bool read_augmentation(struct cfi_cie *cie, const char *letters, struct cursor *c)
{
	if (!*letters)
		return true;
	if (*letters++ != 'z')
		return false;
	cie->has_augmentation = true;
	u64 len = cursor_uleb(c);
	struct cursor data = { .at = c->at };
	if (!cursor_skip(c, len))
		return false;
	data.end = c->at;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = cursor_u8(&data);
			break;
		case 'L':
			cursor_u8(&data);
			break;
		case 'P':
			if (!skip_personality(&data))
				return false;
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* arm64: signs with the second key */
			if (!HAS_LINK)
				return false;
			break;
		default:
			return false;
		}
	}
	return !data.is_bad;
}

/* Reads the fields from the version up to the instructions. */
static bool read_cie_head(struct cfi_cie *cie, struct cursor *c)
{
	u8 version = cursor_u8(c);
	if (version != 1 && version != 3 && version != 4)
		return false;
	const char *letters = (const char *)c->at;
	while (cursor_u8(c))
		;
	if (c->is_bad)
		return false;
	if (version == 4) {
		u8 address_size = cursor_u8(c), segment_size = cursor_u8(c);
		if (address_size != 8 || segment_size != 0)
			return false;
	}
	cie->code_align = cursor_uleb(c);
	cie->data_align = cursor_sleb(c);
	u64 return_register = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	return !c->is_bad && return_register == cfi_return_register() &&
	       read_augmentation(cie, letters, c);
}

static void read_cie(struct cfi *cfi, const struct cfi_section *s, u64 off, struct cursor *c)
{
	struct cfi_cie cie = { .section = s, .off = off };

	cie.is_readable = read_cie_head(&cie, c);
	if (cie.is_readable)
		cfi_run_cie(cfi, &cie, c);
	else
		cfi->nr_malformed++;
	vec_push(&cfi->cies, cie);
}

/*
 * Searches backwards only, because linkers write a CIE before its FDEs. Most FDEs use the last CIE.
 */
static const struct cfi_cie *find_cie(const struct cfi *cfi, const struct cfi_section *s, u64 off)
{
	size_t lo = 0, hi = cfi->cies.nr;

	for (size_t mid = hi - 1; lo < hi; mid = lo + (hi - lo) / 2) {
		const struct cfi_cie *cie = &cfi->cies.at[mid];
		if (cie->section == s && cie->off == off)
			return cie;
		if (cie->section != s || cie->off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/*
 * Returns false if the FDE is damaged. Skips an FDE of code that the linker dropped, or of length
 * 0.
 */
static bool read_fde(struct cfi *cfi, const struct cfi_section *s, u64 cie_off, struct cursor *c)
{
	const struct cfi_cie *cie = find_cie(cfi, s, cie_off);
	if (!cie || !cie->is_readable)
		return false;

	u64 at_vaddr = s->vaddr + (u64)(c->at - s->data), start, len;
	if (!pointer_read(c, cie->encoding, at_vaddr, &start) ||
	    !pointer_read_number(c, cie->encoding, &len))
		return false;
	if (cie->has_augmentation)
		cursor_skip(c, cursor_uleb(c));
	if (c->is_bad || len > UINT32_MAX)
		return false;

	bool is_dropped = start == (cie->encoding & POINTER_PC_RELATIVE ? at_vaddr : 0);
	start -= cfi->base;
	if (is_dropped || len == 0 || start >= cfi->size)
		return true;
	struct cfi_fde fde = {
		.start = (u32)start,
		.end = len > cfi->size - start ? cfi->size : (u32)(start + len),
		.cie = (u32)(cie - cfi->cies.at),
		.insns = (u32)(c->at - s->data),
		.nr_insn_bytes = (u32)(c->end - c->at),
	};
	vec_push(&cfi->fdes, fde);
	return true;
}

/* Reads one entry at `c` and moves `c` to its end. Returns false if no entry is left. */
static bool read_entry(struct cfi *cfi, const struct cfi_section *s, struct cursor *c)
{
	u64 off = (u64)(c->at - s->data);
	u64 len = cursor_uint(c, 4), id_size = 4;

	if (len == UINT32_MAX) {
		len = cursor_uint(c, 8);
		id_size = s->is_debug_frame ? 8 : 4;
	}
	if (len == 0 || c->is_bad)
		return false;
	struct cursor body = { .at = c->at };
	if (!cursor_skip(c, len)) {
		cfi->nr_malformed++;
		return false;
	}
	body.end = c->at;

	u64 id_off = (u64)(body.at - s->data), id = cursor_uint(&body, id_size);
	u64 cie_id = !s->is_debug_frame ? 0 : id_size == 8 ? UINT64_MAX : UINT32_MAX;
	if (body.is_bad)
		cfi->nr_malformed++;
	else if (id == cie_id)
		read_cie(cfi, s, off, &body);
	else if (!read_fde(cfi, s, s->is_debug_frame ? id : id_off - id, &body))
		cfi->nr_malformed++;
	return true;
}

int cfi_read(struct cfi *cfi, const struct cfi_section *section)
{
	if (section->size > CFI_SECTION_MAX)
		return -EFBIG;

	struct cursor c = { .at = section->data, .end = section->data + section->size };
	while (c.at < c.end && read_entry(cfi, section, &c)) {
		if (cfi->fdes.nr > CFI_FDES_MAX || cfi->cies.nr > CFI_CIES_MAX)
			return -EFBIG;
	}
	return 0;
}

bool cfi_fde_is_debug(const struct cfi *cfi, const struct cfi_fde *fde)
{
	return cfi->cies.at[fde->cie].section->is_debug_frame;
}

void cfi_fini(struct cfi *cfi)
{
	vec_fini(&cfi->cies);
	vec_fini(&cfi->fdes);
}
