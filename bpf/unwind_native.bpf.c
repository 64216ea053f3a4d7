// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Native frames: rows compiled from .eh_frame say where the caller is. */
#include "maps.h"
#include "regs.h"

#define PAGE_STEPS        12            /* of a binary search in a page of 2 KB */
#define FRAME_BYTES_MAX   (64ULL << 20) /* a frame beyond is a wrong rule or garbage */
#define SIGNAL_REGS_WORDS 17            /* r8 .. rip of a sigcontext */

static __always_inline const struct unwind_row *row_at(u32 i)
{
	return bpf_map_lookup_elem(&unwind_rows, &i);
}

/* The last row at or before `pc`; rows are sorted. */
static __always_inline bool find_row(const struct walk *w, u64 pc, struct unwind_row *out)
{
	u64 page = pc >> UNWIND_PAGE_SHIFT;
	u32 first = w->range.first_page + w->range.nr_pages + 1;

	const struct unwind_row *here = row_at(w->range.first_page + page);
	const struct unwind_row *next = row_at(w->range.first_page + page + 1);
	if (!here || !next)
		return false;

	u32 lo = first + here->pc, hi = first + next->pc; /* the row is in [lo, hi] */
	for (u32 i = 0; i < PAGE_STEPS && lo < hi; i++) {
		u32 mid = hi - (hi - lo) / 2;
		const struct unwind_row *row = row_at(mid);

		if (!row)
			return false;
		if (row->pc <= pc)
			lo = mid;
		else
			hi = mid - 1;
	}
	const struct unwind_row *row = row_at(lo);
	if (!row)
		return false;
	*out = *row;
	return true;
}

static __always_inline bool find_cached_row(struct walk *w, u64 pc, struct unwind_row *out)
{
	u64 key = (u64)w->range.first_page << 32 | pc;
	u64 slot = (pc ^ pc >> 8 ^ w->range.first_page) & (WALK_CACHED_ROWS - 1);
	struct cached_row *cached = &w->cached_rows[slot];

	if (pc >> UNWIND_PAGE_SHIFT >= w->range.nr_pages)
		return false;
	if (cached->key != key || cached->row.pc != w->proc.generation) {
		if (!find_row(w, pc, &cached->row)) {
			cached->key = 0;
			return false;
		}
		cached->key = key;
		cached->row.pc = w->proc.generation;
	}
	*out = cached->row;
	return true;
}

/* Code without a row is assembly that keeps sp where it was at its entry, or not code at all. */
static __always_inline int step_without_row(struct walk *w)
{
	u64 ra;

	if (!w->is_leaf)
		return STAT_NO_ROW;
	if (walk_read(&ra, sizeof(ra), w->regs.sp))
		return STAT_UNREADABLE;
	if (!walk_find_range(w, ra - 1))
		return STAT_NO_ROW;
	w->rule = RULE_NO_ROW_LEAF;
	w->regs.pc = ra;
	w->regs.sp += 8;
	return 0;
}

/* sp points to the ucontext that the kernel wrote; it may lie on another stack. */
static __always_inline int step_signal(struct walk *w)
{
	if (walk_read(w->words, SIGNAL_REGS_WORDS * 8, w->regs.sp + REGS_IN_UCONTEXT))
		return STAT_UNREADABLE;
	regs_from_sigcontext(&w->regs, w->words);
	w->rule = RULE_ROW_SIGNAL;
	return 0;
}

static __always_inline int find_cfa(struct walk *w, const struct unwind_row *row, u64 *cfa)
{
	const struct regs *r = &w->regs;

	switch (row->kind) {
	case ROW_SP:
		w->rule = RULE_ROW_SP;
		*cfa = r->sp + row->cfa_off * 8ULL;
		return 0;
	case ROW_FP:
		w->rule = RULE_ROW_FP;
		*cfa = r->fp + row->cfa_off * 8ULL;
		return 0;
	case ROW_PLT:
		w->rule = RULE_ROW_PLT;
		*cfa = r->sp + 8 + ((r->pc & 15) >= 11) * 8;
		return 0;
	case ROW_FP_DEREF:
		w->rule = RULE_ROW_FP_DEREF;
		if (walk_read(cfa, sizeof(*cfa), r->fp + (s16)row->cfa_off * 8LL))
			return STAT_UNREADABLE;
		return 0;
	case ROW_SP_DEREF:
		w->rule = RULE_ROW_SP_DEREF;
		if (walk_read(cfa, sizeof(*cfa), r->sp + (s16)row->cfa_off * 8LL))
			return STAT_UNREADABLE;
		*cfa += 8;
		return 0;
	case ROW_END:
		w->rule = RULE_ROW_END;
		return STAT_ROOT;
	default:
		return STAT_ROW_UNSUPPORTED;
	}
}

/* Return address and saved fp; below sp nothing is read: it may lie in a page never touched. */
static __always_inline int read_saved(struct walk *w, const struct unwind_row *row, u64 cfa)
{
	u64 fp_at = cfa + row->fp_off * 8LL;

	/* Most functions save fp right below the return address: one read for both. */
	if (row->fp_off == -2 && row->kind != ROW_FP_DEREF) {
		if (walk_read(w->words, 16, cfa - 16))
			return STAT_UNREADABLE;
		w->regs.fp = w->words[0];
		w->regs.pc = w->words[1];
		return 0;
	}
	if (row->kind == ROW_FP_DEREF)
		fp_at = w->regs.fp;
	if (walk_read(&w->regs.pc, sizeof(u64), cfa - 8))
		return STAT_UNREADABLE;
	if ((row->fp_off || row->kind == ROW_FP_DEREF) &&
	    walk_read(&w->regs.fp, sizeof(u64), fp_at))
		return STAT_UNREADABLE;
	return 0;
}

int walk_native(struct walk *w)
{
	struct unwind_row row = {};
	u64 cfa = 0;

	if (!w)
		return STAT_NO_SCRATCH;
	u64 pc = w->regs.pc - w->range.bias - !w->is_leaf;
	if (w->range.kind != RANGE_ROWS || !find_cached_row(w, pc, &row) || row.kind == ROW_NONE)
		return step_without_row(w);
	if (row.kind == ROW_SIGNAL)
		return step_signal(w);

	int stop = find_cfa(w, &row, &cfa);
	if (stop)
		return stop;
	if (cfa <= w->regs.sp || cfa > w->regs.sp + FRAME_BYTES_MAX || cfa & 7)
		return STAT_BAD_CFA;

	if (read_saved(w, &row, cfa))
		return STAT_UNREADABLE;
	w->regs.sp = cfa;
	return 0;
}
