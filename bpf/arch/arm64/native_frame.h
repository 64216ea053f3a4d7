/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Native frames on arm64: the places of saved registers, and code that shows them. */
#pragma once

#include "regs.h"
#include "unwind/walk.h"

/* Instructions have four bytes. */
#define MOV_X8_RT_SIGRETURN 0xd2801168 /* mov x8, #139 */
#define SVC                 0xd4000001 /* svc #0 */

/*
 * Whether a call ends at `ra`: bl, or blr, also with a signed address (blraa, blrab and the forms
 * with zero).
 */
static __always_inline bool follows_call(u64 ra)
{
	u32 before;

	if (ra & 3 || walk_read(&before, sizeof(before), ra - 4))
		return false;
	return before >> 26 == 0x25 || (before & 0xfefff000) == 0xd63f0000;
}

/* Whether the code at pc returns from a signal handler: that of the vdso, or musl's. */
static __always_inline bool is_signal_return(const struct walk *w)
{
	u32 code[2];

	return !w->is_leaf && !walk_read(code, sizeof(code), w->regs.pc) &&
	       code[0] == MOV_X8_RT_SIGRETURN && code[1] == SVC;
}

/* musl's starts of main and of threads are not known for arm64. */
static __always_inline bool is_thread_start(const struct walk *w)
{
	return false;
}

static __always_inline bool is_return_address(struct walk *w, u64 ra)
{
	return walk_find_range(w, ra - 1) && follows_call(ra);
}

/* The frames of code that other runtimes generate are not known for arm64. */
static __always_inline int step_generated(struct walk *w)
{
	return STAT_NO_ROW;
}

/* The return address of a leaf that has not moved sp since its entry. Returns 0 or an error. */
static __always_inline int read_unmoved(const struct walk *w, u64 *ra)
{
	*ra = regs_unsigned(w->regs.lr);
	return 0;
}

/* The kind of row that computes the CFA in the same way. */
#define ROW_CFA(rule) ((rule)->kind == ROW_LINK ? ROW_SP : (rule)->kind)

/* Whether a frame may have no bytes on the stack. */
#define MAY_BE_EMPTY(w, rule) ((w)->is_leaf && !(rule).fp_off)

/*
 * Return address and saved fp, which lie side by side; fp_off says where (struct unwind_row). A
 * leaf may still have both in their registers. Uprobes replace the return address in x30, at the
 * time when sp was the CFA.
 */
static __always_inline int read_saved(struct walk *w, const struct unwind_rule *rule, u64 cfa)
{
	u64 at = cfa + rule->fp_off * 8LL;
	bool is_alone = rule->kind == ROW_LINK;
	const u64 *words;

	if (!rule->fp_off) {
		if (!w->is_leaf)
			return STAT_ROW_REGISTER;
		w->regs.pc = walk_true_return(w, cfa, regs_unsigned(w->regs.lr));
		return 0;
	}
	if (rule->fp_off > 0) /* from the register */
		at -= (rule->cfa_off + 1) * 8ULL;
	words = walk_stack(w, at, is_alone ? 1 : 2);
	if (!words)
		return STAT_UNREADABLE;
	if (!is_alone)
		w->regs.fp = words[0];
	w->regs.pc = walk_true_return(w, cfa, regs_unsigned(is_alone ? words[0] : words[1]));
	return 0;
}
