/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Native frames on x86-64: the places of saved registers, and code that shows them. */
#pragma once

#include "regs.h"
#include "unwind/walk.h"

#define CALL_BYTES      8     /* read before a return address: a call has 2 to 7 bytes */
#define NR_RT_SIGRETURN 15    /* arch/x86/entry/syscalls/syscall_64.tbl */
#define TLS_BYTES_MAX   65536 /* from a thread's first frame to its thread pointer */

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
		return walk_is_at_start(w);
	/* mov %rax,%rdi; call, or from an int: movslq %eax,%rdi; call */
	return (behind == 0xe8c78948 || behind == 0xe8f86348) &&
	       w->tls - w->regs.sp < TLS_BYTES_MAX;
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

	if (words < 0 && (at & 7 || at - w->regs.sp > WALK_FRAME_MAX))
		return STAT_NO_ROW;
	frame = walk_stack(w, at + 8, 1);
	if (!frame)
		return STAT_UNREADABLE;
	u64 ra = walk_true_return(w, at + 8, *frame);
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

/* The return address of a leaf that has not moved sp since its entry. Returns 0 or an error. */
static __always_inline int read_unmoved(const struct walk *w, u64 *ra)
{
	return walk_read(ra, sizeof(*ra), w->regs.sp);
}

/* The kind of row that computes the CFA in the same way. */
#define ROW_CFA(rule) ((rule)->kind)

/* Whether a frame may have no bytes on the stack. As a function it makes worse code. */
#define MAY_BE_EMPTY(w, rule) ((rule).kind == ROW_IN_REGISTER)

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
	w->regs.pc = walk_true_return(w, cfa - 8, *word);
	return 0;
}
