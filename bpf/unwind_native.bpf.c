// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Native frames: rows compiled from .eh_frame say where the caller is. */
#include "maps.h"
#include "regs.h"

#define ROW_STEPS         24            /* of a binary search: 16 M rows a module */
#define FRAME_BYTES_MAX   (64ULL << 20) /* a frame beyond is a wrong rule or garbage */
#define SIGNAL_REGS_WORDS 17            /* r8 .. rip of a sigcontext */

/* The last row at or before `pc`; rows are sorted. */
static __always_inline bool find_row(const struct walk *w, u32 pc, struct unwind_row *out)
{
	u32 lo = w->range.first_row, hi = lo + w->range.nr_rows, found = hi;

	for (u32 i = 0; i < ROW_STEPS && lo < hi; i++) {
		u32 mid = lo + (hi - lo) / 2;
		const struct unwind_row *row = bpf_map_lookup_elem(&unwind_rows, &mid);

		if (!row)
			return false;
		if (row->pc <= pc) {
			*out = *row;
			found = mid;
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return found != w->range.first_row + w->range.nr_rows;
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
	case ROW_END:
		w->rule = RULE_ROW_END;
		return STAT_ROOT;
	default:
		return STAT_ROW_UNSUPPORTED;
	}
}

int walk_native(struct walk *w)
{
	struct unwind_row row = {};
	u64 cfa = 0, fp_at;

	if (!w)
		return STAT_NO_SCRATCH;
	u64 pc = w->regs.pc - w->range.bias - !w->is_leaf;
	if (w->range.kind != RANGE_ROWS || pc > 0xffffffff || !find_row(w, pc, &row) ||
	    row.kind == ROW_NONE)
		return step_without_row(w);
	if (row.kind == ROW_SIGNAL)
		return step_signal(w);

	int stop = find_cfa(w, &row, &cfa);
	if (stop)
		return stop;
	if (cfa <= w->regs.sp || cfa > w->regs.sp + FRAME_BYTES_MAX || cfa & 7)
		return STAT_BAD_CFA;

	/* Most functions save fp right below the return address: one read for both. */
	if (walk_read(w->words, 16, cfa - 16))
		return STAT_UNREADABLE;
	w->regs.pc = w->words[1];
	fp_at = row.kind == ROW_FP_DEREF ? w->regs.fp : cfa + row.fp_off * 8LL;
	if (row.fp_off == -2 && row.kind != ROW_FP_DEREF)
		w->regs.fp = w->words[0];
	else if ((row.fp_off || row.kind == ROW_FP_DEREF) &&
		 walk_read(&w->regs.fp, sizeof(u64), fp_at))
		return STAT_UNREADABLE;
	w->regs.sp = cfa;
	return 0;
}
