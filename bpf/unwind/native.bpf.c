// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Native frames: rows compiled from .eh_frame give the caller's location. Part of unwind/walk.h. */
#include "maps.h"
#include "native_frame.h"
#include "regs.h"

#define PAGE_STEPS 12 /* of a binary search in a page of 2 KB */

static __always_inline const union unwind_word *word_at(u32 i)
{
	u32 at = i / 2;
	const struct unwind_words *two = bpf_map_lookup_elem(&unwind_rows, &at);

	if (!two)
		return NULL;
	keep_as_written(two); /* no arithmetic before the check */
	return &two->at[i % 2];
}

/* The rule of the last row at or before `pc`; rows are sorted. */
static __always_inline bool find_rule(const struct walk *w, u64 pc, struct unwind_rule *out)
{
	u32 page = w->range.first_page + (pc >> UNWIND_PAGE_SHIFT);
	u32 first = w->range.first_page + w->range.nr_pages + 1;

	const union unwind_word *here = word_at(page), *next = word_at(page + 1);
	if (!here || !next)
		return false;

	u32 lo = here->first_row, hi = next->first_row; /* the first row after pc is in [lo, hi] */
	for (u32 i = 0; i < PAGE_STEPS && lo < hi; i++) {
		u32 mid = lo + (hi - lo) / 2;
		const union unwind_word *word = word_at(first + mid);

		if (!word)
			return false;
		if (word->row.pc <= pc % UNWIND_PAGE_BYTES)
			lo = mid + 1;
		else
			hi = mid;
	}
	const union unwind_word *row = lo ? word_at(first + lo - 1) : NULL;
	const union unwind_word *rule =
		row ? word_at(w->range.first_page - 1 - row->row.rule) : NULL;
	if (!rule)
		return false;
	*out = rule->rule;
	return true;
}

/* Finds the rule for `addr`, in the cache or by search. Returns 0 or enum stat_id. */
static __always_inline int recall_rule(struct walk *w, u64 addr, struct unwind_rule *out)
{
	struct cached_row *known = &w->rows[(addr ^ addr >> 9) & (WALK_ROWS - 1)];

	if (known->pc != addr || known->publication != w->proc.publication) {
		known->pc = 0;
		if (!walk_find_range(w, addr))
			return STAT_NO_MAPPING;
		if (w->range.kind != RANGE_ROWS)
			return STAT_NO_ROW;
		u64 pc = addr - w->range.bias;
		if (pc >> UNWIND_PAGE_SHIFT >= w->range.nr_pages || !find_rule(w, pc, &known->rule))
			known->rule = (struct unwind_rule){ .kind = ROW_NONE };
		known->pc = addr;
		known->publication = w->proc.publication;
	}
	*out = known->rule;
	return 0;
}

/* sp points to the ucontext that the kernel wrote. The interrupted stack may be another one. */
static __always_inline int step_signal(struct walk *w)
{
	if (walk_read(w->words, SIGNAL_REGS_WORDS * 8, w->regs.sp + REGS_IN_UCONTEXT))
		return STAT_UNREADABLE;
	regs_from_sigcontext(&w->regs, w->words);
	w->frame.info |= USER_FRAME_LEAF; /* nothing called the trampoline: it has not run yet */
	w->rule = RULE_ROW_SIGNAL;
	return 0;
}

/*
 * Steps from code without a row. In an image that has rows, such code is assembly, taken as not
 * having moved sp since its entry, or no code at all. Other code has a caller only if
 * step_generated finds one.
 */
static __always_inline int step_without_row(struct walk *w, const struct unwind_rule *rule,
					    int stop)
{
	u64 ra;

	if (is_signal_return(w))
		return step_signal(w);
	if (!stop && rule->cfa_off == ROW_NONE_MUSL && is_thread_start(w)) {
		w->rule = RULE_THREAD_START;
		return STAT_ROOT;
	}
	if (stop || !w->is_leaf)
		return w->proc.generates ? step_generated(w) : STAT_NO_ROW;
	if (read_unmoved(w, &ra))
		return STAT_UNREADABLE;
	if (!is_return_address(w, ra))
		return w->proc.generates ? step_generated(w) : STAT_NO_ROW;
	w->frame.info |= USER_FRAME_APPROXIMATE;
	w->rule = RULE_NO_ROW_LEAF;
	w->regs.pc = ra;
	w->regs.sp += CALL_PUSHES;
	return 0;
}

static __always_inline int find_cfa(struct walk *w, const struct unwind_rule *rule, u64 *cfa)
{
	const struct regs *r = &w->regs;

	switch (ROW_CFA(rule)) {
	case ROW_SP:
		w->rule = RULE_ROW_SP;
		*cfa = r->sp + rule->cfa_off * 8ULL;
		return 0;
	case ROW_FP:
		w->rule = RULE_ROW_FP;
		*cfa = r->fp + rule->cfa_off * 8ULL;
		return 0;
	case ROW_SWITCH:
		w->rule = RULE_ROW_SWITCH;
		*cfa = r->fp + rule->cfa_off * 8ULL;
		return 0;
	case ROW_PLT:
		w->rule = RULE_ROW_PLT;
		*cfa = r->sp + 8 + ((r->pc & 15) >= 11) * 8;
		return 0;
	case ROW_FP_DEREF:
		w->rule = RULE_ROW_FP_DEREF;
		if (walk_read(cfa, sizeof(*cfa), r->fp + (s16)rule->cfa_off * 8LL))
			return STAT_UNREADABLE;
		return 0;
	case ROW_SP_DEREF:
		w->rule = RULE_ROW_SP_DEREF;
		if (walk_read(cfa, sizeof(*cfa), r->sp + (s16)rule->cfa_off * 8LL))
			return STAT_UNREADABLE;
		*cfa += 8;
		return 0;
	case ROW_REGISTER:
		if (!w->is_leaf)
			return STAT_ROW_REGISTER;
		w->rule = RULE_ROW_REGISTER;
		*cfa = regs_numbered(r, rule->cfa_off >> ROW_REGISTER_SHIFT) +
		       (rule->cfa_off & ROW_REGISTER_WORDS_MAX) * 8ULL;
		return 0;
	case ROW_IN_REGISTER:
		if (!w->is_leaf)
			return STAT_ROW_REGISTER;
		w->rule = RULE_ROW_IN_REGISTER;
		*cfa = r->sp + (rule->cfa_off & ROW_REGISTER_WORDS_MAX) * 8ULL;
		return 0;
	case ROW_END:
		w->rule = RULE_ROW_END;
		return STAT_ROOT;
	case ROW_ENTRY:
		if (!walk_is_at_start(w))
			return STAT_NO_ROW;
		w->rule = RULE_ROW_ENTRY;
		return STAT_ROOT;
	default:
		return STAT_ROW_UNSUPPORTED;
	}
}

int walk_native(struct walk *w)
{
	struct unwind_rule rule = {};
	u64 cfa = 0;

	if (!w)
		return STAT_NO_SCRATCH;
	int stop = recall_rule(w, w->regs.pc - !w->is_leaf, &rule);
	if (stop == STAT_NO_ROW || (!stop && rule.kind == ROW_NONE))
		return step_without_row(w, &rule, stop);
	if (stop)
		return stop;
	if (rule.kind == ROW_SIGNAL)
		return step_signal(w);
	stop = find_cfa(w, &rule, &cfa);
	if (stop)
		return stop;
	bool grows =
		(cfa > w->regs.sp || MAY_BE_EMPTY(w, rule)) && cfa <= w->regs.sp + WALK_FRAME_MAX;
	if ((!grows && rule.kind != ROW_SWITCH) || cfa & 7)
		return STAT_BAD_CFA;

	stop = read_saved(w, &rule, cfa);
	if (stop)
		return stop;
	w->regs.sp = cfa;
	return 0;
}
