// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Native frames: rows compiled from .eh_frame give the caller's location. Part of unwind/walk.h. */
#include "maps.h"
#include "regs.h"

#define PAGE_STEPS        12            /* of a binary search in a page of 2 KB */
#define FRAME_BYTES_MAX   (64ULL << 20) /* a larger frame means a wrong rule or garbage */
#define SIGNAL_REGS_WORDS 17            /* r8 .. rip of a sigcontext */
#define CALL_BYTES        8             /* read before a return address: a call has 2 to 7 bytes */
#define NR_RT_SIGRETURN   15            /* arch/x86/entry/syscalls/syscall_64.tbl */
#define START_BELOW       1024  /* bytes below a process's first sp: frames that lead to main */
#define START_ABOVE       4096  /* bytes above: arguments that ld.so skips */
#define TLS_BYTES_MAX     65536 /* from a thread's first frame to its thread pointer */

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

/* Whether a call ends at `ra`: e8 rel32, or ff /2 with its operand bytes. */
static __always_inline bool follows_call(u64 ra)
{
	u8 before[CALL_BYTES];

	if (walk_read(before, sizeof(before), ra - CALL_BYTES))
		return false;
	if (before[CALL_BYTES - 5] == 0xe8)
		return true;
	for (u32 i = CALL_BYTES - 7; i <= CALL_BYTES - 2; i++)
		if (before[i] == 0xff && (before[i + 1] & 0x38) == 0x10)
			return true;
	return false;
}

/*
 * Whether the code at pc returns from a signal handler: mov $15,%rax (7 bytes) or mov $15,%eax (5),
 * then syscall. musl has no rows for its trampoline.
 */
static __always_inline bool is_signal_return(const struct walk *w)
{
	u8 code[9];

	if (w->is_leaf || walk_read(code, sizeof(code), w->regs.pc))
		return false;
	if (code[0] == 0xb8)
		return code[1] == NR_RT_SIGRETURN && !code[2] && code[5] == 0x0f && code[6] == 0x05;
	return code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0 &&
	       code[3] == NR_RT_SIGRETURN && !code[4] && code[7] == 0x0f && code[8] == 0x05;
}

/*
 * Whether sp is near the place where the kernel put it when the process began. No other thread's
 * stack is there.
 */
static __always_inline bool is_at_start(const struct walk *w)
{
	return w->start_stack &&
	       w->regs.sp - (w->start_stack - START_BELOW) < START_BELOW + START_ABOVE;
}

/*
 * Whether the frame is musl's function that calls main, or the one that calls a thread's function.
 * Both call by a pointer and hand the result to a function that never returns: exit(main()),
 * pthread_exit(start()).
 */
static __always_inline bool is_thread_start(const struct walk *w)
{
	u8 code[8]; /* four bytes before the return address and four behind it */
	u32 behind;

	if (w->is_leaf || walk_read(code, sizeof(code), w->regs.pc - 4))
		return false;
	__builtin_memcpy(&behind, code + 4, sizeof(behind));
	if (code[2] != 0xff && code[1] != 0xff) /* call *%rbx, call *(%rbx), call *0(%rbp) */
		return false;
	if ((behind & 0xffffff) == 0xe8c789) /* mov %eax,%edi; call */
		return is_at_start(w);
	/* mov %rax,%rdi; call, or from an int: movslq %eax,%rdi; call */
	return (behind == 0xe8c78948 || behind == 0xe8f86348) &&
	       w->tls - w->regs.sp < TLS_BYTES_MAX;
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
 * The true return address of a function with a return probe: the stack has the trampoline's address
 * instead.
 */
static __always_inline u64 true_return(const struct walk *w, u64 at, u64 pc)
{
	for (u32 i = 0; i < WALK_RETURNS && i < w->nr_returns; i++)
		if (w->returns[i].at == at)
			return w->returns[i].pc;
	return pc;
}

/*
 * Words from sp to the return address, judged by the code at a leaf's pc. 0 before `push %rbp` and
 * at `ret`: the return address is at sp. 1 between `push` and `mov %rsp,%rbp`: it is above the
 * saved fp. -1 at other code, where fp points to the frame.
 */
static __always_inline int words_below_leaf(const struct walk *w)
{
	u8 code[4]; /* one byte before pc, three from it on */

	if (walk_read(code, sizeof(code), w->regs.pc - 1))
		return -1;
	if (code[1] == 0x55 || code[1] == 0xc3)
		return 0;
	bool sets_fp = (code[1] == 0x48 && code[2] == 0x89 && code[3] == 0xe5) ||
		       (code[1] == 0x48 && code[2] == 0x8b && code[3] == 0xec);
	return code[0] == 0x55 && sets_fp ? 1 : -1;
}

/*
 * Words from sp to the caller's return address if the caller continues with add $N,%rsp; ret, as
 * CPython's trampolines for perf do. Otherwise -1.
 */
static __always_inline int words_below_caller(const struct walk *w)
{
	u8 code[5];

	if (walk_read(code, sizeof(code), w->regs.pc))
		return -1;
	bool ends = code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[4] == 0xc3;
	return ends && code[3] < 0x80 && !(code[3] & 7) ? code[3] / 8 : -1;
}

static __always_inline bool is_return_address(struct walk *w, u64 ra)
{
	return walk_find_range(w, ra - 1) && follows_call(ra);
}

/*
 * Generated code, such as that of V8, .NET or PHP, and code of the runtime's file that was
 * generated when it was built, such as V8's builtins. Their frames are linked by fp. Other JITs may
 * use fp for something else: then a return address behind no call ends the walk, as a rule.
 */
static __always_inline int step_generated(struct walk *w)
{
	int words = w->is_leaf ? words_below_leaf(w) : words_below_caller(w);
	u64 at = words < 0 ? w->regs.fp : w->regs.sp + words * 8ULL - 8;
	const u64 *frame;

	if (words < 0 && (at & 7 || at - w->regs.sp > FRAME_BYTES_MAX))
		return STAT_NO_ROW;
	frame = walk_stack(w, at + 8, 1);
	if (!frame)
		return STAT_UNREADABLE;
	u64 ra = true_return(w, at + 8, *frame);
	if (!is_return_address(w, ra))
		return STAT_NO_ROW;
	if (words < 0) {
		frame = walk_stack(w, at, 1);
		if (!frame)
			return STAT_UNREADABLE;
		w->regs.fp = *frame;
	}
	w->rule = words < 0 ? RULE_GENERATED : RULE_GENERATED_SP;
	w->regs.pc = ra;
	w->regs.sp = at + 16;
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
	if (walk_read(&ra, sizeof(ra), w->regs.sp))
		return STAT_UNREADABLE;
	if (!is_return_address(w, ra))
		return w->proc.generates ? step_generated(w) : STAT_NO_ROW;
	w->frame.info |= USER_FRAME_APPROXIMATE;
	w->rule = RULE_NO_ROW_LEAF;
	w->regs.pc = ra;
	w->regs.sp += 8;
	return 0;
}

static __always_inline int find_cfa(struct walk *w, const struct unwind_rule *rule, u64 *cfa)
{
	const struct regs *r = &w->regs;

	switch (rule->kind) {
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
		if (!is_at_start(w))
			return STAT_NO_ROW;
		w->rule = RULE_ROW_ENTRY;
		return STAT_ROOT;
	default:
		return STAT_ROW_UNSUPPORTED;
	}
}

/* Return address and saved fp. Do not read below sp: that page may never have been touched. */
static __always_inline int read_saved(struct walk *w, const struct unwind_rule *rule, u64 cfa)
{
	u64 fp_at = rule->kind == ROW_FP_DEREF ? w->regs.fp : cfa + rule->fp_off * 8LL;
	const u64 *word;

	if (rule->fp_off || rule->kind == ROW_FP_DEREF) {
		word = walk_stack(w, fp_at, 1);
		if (!word)
			return STAT_UNREADABLE;
		w->regs.fp = *word;
	}
	if (rule->kind == ROW_IN_REGISTER) {
		w->regs.pc = regs_numbered(&w->regs, rule->cfa_off >> ROW_REGISTER_SHIFT);
		return 0;
	}
	word = walk_stack(w, cfa - 8, 1);
	if (!word)
		return STAT_UNREADABLE;
	w->regs.pc = true_return(w, cfa - 8, *word);
	return 0;
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
	bool grows = (cfa > w->regs.sp || rule.kind == ROW_IN_REGISTER) &&
		     cfa <= w->regs.sp + FRAME_BYTES_MAX;
	if ((!grows && rule.kind != ROW_SWITCH) || cfa & 7)
		return STAT_BAD_CFA;

	if (read_saved(w, &rule, cfa))
		return STAT_UNREADABLE;
	w->regs.sp = cfa;
	return 0;
}
