/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame debug steps`: executes a thread instruction by instruction and walks its stack at
 * each. The instruction determines how its callers may change: a call adds one, a return removes
 * one, other instructions change none. This checks unwinding at every executed instruction, also at
 * those that a sample hits once in a million.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/log.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/debug/stopped.h"
#include "proc/status.h"

#define CODE_BYTES 16        /* an instruction has at most 15 */
#define NEAR_BYTES (1 << 16) /* size of one function at most */
#define TRAP_FLAG  0x100
#define PUSHF      0x9c

struct options {
	int tid, count, interval_us, nr_steps, nr_shown, depth;
	bool help;
};

/* How an instruction may change the callers of its function. */
enum effect {
	EFFECT_NONE,
	EFFECT_CALL,
	EFFECT_INVOKE, /* interpreter: the method may count as called from here on */
	EFFECT_RETURN,
	EFFECT_JUMP, /* to any address: may be a return, or the end of an exception's search for a
			handler */
	EFFECT_GOTO, /* to a known address: may enter a stub as a call would */
	EFFECT_ANY,  /* a system call: may be a return from a signal */
};

struct step {
	struct thread_regs at;
	u8 code[CODE_BYTES]; /* at the pc; ff where it cannot be read */
	struct walked walked;
};

struct steps {
	const struct options *o;
	struct stopped process;
	u64 nr, nr_cut, nr_wrong;
	int nr_shown;
};

static enum effect effect_of(const u8 *code)
{
	static const u8 set_sender_sp[] = { 0x4c, 0x8d, 0x6c, 0x24, 0x08 }; /* lea r13, [rsp + 8] */
	int i = 0;

	if (!memcmp(code, set_sender_sp, sizeof(set_sender_sp)))
		return EFFECT_INVOKE;
	while (i < 8 && (code[i] == 0x66 || code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x3e))
		i++;
	if ((code[i] & 0xf0) == 0x40) /* REX */
		i++;
	if (code[i] == 0xe8)
		return EFFECT_CALL;
	if (code[i] == 0xc3 || code[i] == 0xc2)
		return EFFECT_RETURN;
	if (code[i] == 0xe9)
		return EFFECT_GOTO;
	if (code[i] == 0x0f && code[i + 1] == 0x05)
		return EFFECT_ANY;
	if (code[i] != 0xff)
		return EFFECT_NONE;
	switch (code[i + 1] >> 3 & 7) {
	case 2:
		return EFFECT_CALL;
	case 4:
		return EFFECT_JUMP;
	}
	return EFFECT_NONE;
}

/* The caller with index `i` from the root; the leaf is not a caller. */
static const struct walked_frame *caller(const struct walked *w, size_t i)
{
	return &w->frames.at[w->frames.nr - 1 - i];
}

/*
 * Whether the outer `nr` callers are the same. Deoptimisation changes a return address where it
 * lies; the interpreter moves a return address to make room for locals.
 */
static bool are_same(const struct walked *a, const struct walked *b, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (caller(a, i)->pc != caller(b, i)->pc && caller(a, i)->sp != caller(b, i)->sp)
			return false;
	return true;
}

/* HotSpot's code jumps to handlers inside its own frame, and to stubs that read that frame. */
static bool is_near(u64 a, u64 b)
{
	return a - b + NEAR_BYTES < 2 * NEAR_BYTES;
}

static bool is_interpreter(const struct walked_frame *f)
{
	u64 kind = f->frame.info >> USER_FRAME_KIND_SHIFT;

	return kind == USER_FRAME_INTERPRETED || kind == USER_FRAME_INTERPRETER;
}

/*
 * mov rbx, i64; jmp rel32: code of a method for calls to the interpreter. It counts as the place of
 * the call.
 */
static bool is_call_stub(const u8 *code)
{
	return code[0] == 0x48 && code[1] == 0xbb && code[10] == 0xe9;
}

static bool is_possible(const struct step *from, const struct step *to)
{
	const struct walked *a = &from->walked, *b = &to->walked;
	size_t nr = a->frames.nr - 1, nr_then = b->frames.nr - 1;
	bool same = nr == nr_then && are_same(a, b, nr);
	bool more = nr_then == nr + 1 && are_same(a, b, nr);
	bool less = nr_then + 1 == nr && are_same(a, b, nr_then);

	if (from->at.regs.pc == to->at.regs.pc) /* a system call, made again */
		return same;
	if (same && is_interpreter(&a->frames.at[0]) && is_interpreter(&b->frames.at[0]))
		return true; /* its own routines are not unwound */
	switch (effect_of(from->code)) {
	case EFFECT_NONE:
		return same;
	case EFFECT_CALL:
		if (is_call_stub(to->code))
			return same;
		return more && b->frames.at[1].pc - from->at.regs.pc <= CODE_BYTES;
	case EFFECT_INVOKE:
		return same || more;
	case EFFECT_RETURN:
		return less && to->at.regs.pc == a->frames.at[1].pc;
	case EFFECT_JUMP:
		return same || (less && is_near(to->at.regs.pc, a->frames.at[1].pc));
	case EFFECT_GOTO:
		return same || (more && is_near(b->frames.at[1].pc, from->at.regs.pc));
	case EFFECT_ANY:
		break;
	}
	return true;
}

static void print_step(struct steps *s, const char *when, const struct step *at)
{
	static const char *const names[REGS_WORDS] = REGS_NAMES;
	struct walked top = at->walked;

	printf("%s:", when);
	for (int i = 0; i < REGS_WORDS; i++)
		printf(" %s %#llx", names[i], ((const unsigned long long *)&at->at.regs)[i]);
	printf(", code");
	for (int i = 0; i < CODE_BYTES; i++)
		printf(" %02x", at->code[i]);
	puts("");
	if (top.frames.nr > (size_t)s->o->depth)
		top.frames.nr = (size_t)s->o->depth;
	stopped_print(&s->process, s->o->tid, &top);
}

static void report(struct steps *s, const char *what, const struct step *from,
		   const struct step *to)
{
	if (s->nr_shown++ >= s->o->nr_shown)
		return;
	printf("%s at step %" PRIu64 "\n", what, s->nr);
	if (from)
		print_step(s, "before", from);
	print_step(s, "after", to);
}

static int look(struct steps *s, struct step *at)
{
	for (size_t i = 0; i < CODE_BYTES; i += 8) {
		long word = ptrace(PTRACE_PEEKTEXT, s->o->tid, at->at.regs.pc + i, 0);
		memcpy(at->code + i, &word, 8);
	}
	int err = stopped_walk(&s->process, &at->at, &at->walked);
	if (!err && !at->walked.is_complete) {
		s->nr_cut++;
		report(s, "cut", NULL, at);
	}
	return err;
}

/* pushf saves the trap flag that the kernel steps with; popf would later end the process. */
static int hide_trap_flag(pid_t tid, u64 sp)
{
	long flags = ptrace(PTRACE_PEEKDATA, tid, sp, 0);

	return ptrace(PTRACE_POKEDATA, tid, sp, flags & ~TRAP_FLAG) ? -errno : 0;
}

/* Steps one instruction and delivers *signal; then stores the next pending signal there. */
static int go_on(pid_t tid, const struct step *from, struct step *at, int *signal)
{
	bool was_pushf = from->code[0] == PUSHF;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, tid, 0, (long)*signal) ||
	    waitpid(tid, &status, __WALL) != tid)
		return -errno;
	if (!WIFSTOPPED(status))
		return -ESRCH;
	*signal = WSTOPSIG(status) == SIGTRAP || status >> 16 ? 0 : WSTOPSIG(status);
	int err = thread_regs_read(tid, &at->at);
	if (err)
		return err;
	return was_pushf && at->at.regs.pc == from->at.regs.pc + 1
		       ? hide_trap_flag(tid, at->at.regs.sp)
		       : 0;
}

/* Checks from the first step of a stopped thread. After a signal there is no stack to compare with.
 */
static int follow(struct steps *s, struct step step[2], int *signal)
{
	int err = look(s, &step[0]);

	for (int i = 1; !err && i <= s->o->nr_steps; i++) {
		struct step *from = &step[(i - 1) & 1], *to = &step[i & 1];
		bool was_signalled = *signal;

		err = go_on(s->o->tid, from, to, signal) ?: look(s, to);
		s->nr++;
		if (err || was_signalled || *signal || !from->walked.is_complete ||
		    !to->walked.is_complete || is_possible(from, to))
			continue;
		s->nr_wrong++;
		report(s, "callers changed", from, to);
	}
	return err;
}

static int stop_and_follow(struct steps *s)
{
	struct step step[2] = { 0 };
	int signal = 0, err = stopped_seize(s->o->tid, &step[0].at, &signal);

	if (err)
		return err;
	err = follow(s, step, &signal);
	ptrace(PTRACE_DETACH, s->o->tid, 0, (long)signal);
	walked_fini(&step[0].walked);
	walked_fini(&step[1].walked);
	return err;
}

static int run(struct steps *s)
{
	const struct timespec pause = { s->o->interval_us / 1000000,
					s->o->interval_us % 1000000 * 1000L };
	int err = 0;

	for (int i = 0; i < s->o->count && !err; i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = stop_and_follow(s);
	}
	printf("%" PRIu64 " steps, %" PRIu64 " stacks cut, %" PRIu64 " with impossible callers\n",
	       s->nr, s->nr_cut, s->nr_wrong);
	return err;
}

static int usage(const struct opt *opts, size_t nr, int status)
{
	puts("usage: sysflame debug steps --tid TID [OPTION..] PID\n\n"
	     "Lets a thread go by single instructions and shows stacks that are cut, or whose\n"
	     "callers change where no instruction changes them.\n");
	opt_help(opts, nr);
	return status;
}

int debug_steps_main(int argc, char **argv)
{
	struct options o = {
		.count = 1, .interval_us = 10000, .nr_steps = 1000, .nr_shown = 10, .depth = 8
	};
	const struct opt opts[] = {
		{ 't', "tid", OPT_INT, &o.tid, "TID", "the thread" },
		{ 's', "steps", OPT_INT, &o.nr_steps, "N", "instructions at a time" },
		{ 'n', "count", OPT_INT, &o.count, "N", "so many times" },
		{ 'i', "interval", OPT_INT, &o.interval_us, "US",
		  "microseconds between two times" },
		{ 0, "show", OPT_INT, &o.nr_shown, "N", "print at most so many findings" },
		{ 0, "depth", OPT_INT, &o.depth, "N", "frames to print of a stack" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this" },
	};
	int nr = opt_parse_mixed(opts, ARRAY_SIZE(opts), argc, argv);

	if (nr < 0 || o.help)
		return usage(opts, ARRAY_SIZE(opts), nr < 0 ? EXIT_USAGE : 0);
	pid_t pid = nr == 1 ? proc_pid_parse(argv[0]) : 0;
	if (!pid || o.tid <= 0 || o.count < 1 || o.interval_us < 0 || o.nr_steps < 1) {
		log_error("debug steps takes one PID, --tid TID and counts above 0");
		return EXIT_USAGE;
	}
	struct steps s = { .o = &o };
	int err = stopped_init(&s.process, pid) ?: run(&s);
	if (err)
		log_error("cannot step thread %d of process %d: %s", o.tid, pid, strerror(-err));
	stopped_fini(&s.process);
	return err || s.nr_cut || s.nr_wrong ? EXIT_FAILED : 0;
}
