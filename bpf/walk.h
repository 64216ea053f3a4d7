/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One walk over a user stack: its state, what every step needs, and who takes the steps. */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "hotspot_abi.h"
#include "stat.h"

/* How the caller of a frame was found; `sysflame debug unwind` prints the text. */
#define RULES(X)                                                               \
	X(NONE, "no rule: the walk ends here")                                 \
	X(ROW_SP, "row: CFA from sp")                                          \
	X(ROW_FP, "row: CFA from fp")                                          \
	X(ROW_PLT, "row: PLT")                                                 \
	X(ROW_END, "row: outermost frame")                                     \
	X(ROW_SIGNAL, "row: registers from the signal frame")                  \
	X(ROW_FP_DEREF, "row: realigned stack")                                \
	X(ROW_SP_DEREF, "row: CFA saved on the stack")                         \
	X(ROW_REGISTER, "row: CFA from a leaf's register")                     \
	X(NO_ROW_LEAF, "leaf without a row: return address at sp")             \
	X(INTERPRETER, "interpreter frame")                                    \
	X(INTERPRETER_ENTRY, "interpreter frame under construction")           \
	X(INTERPRETER_EXIT, "interpreter frame just left")                     \
	X(FRAME_SIZE, "frame size of the blob")                                \
	X(FRAME_SIZE_FP, "frame size of the blob, fp not saved yet")           \
	X(MATH, "frame size, above all registers saved for C")                 \
	X(SEARCH, "frame size, then the next return address in the code heap") \
	X(RA_AT_SP, "return address at sp")                                    \
	X(FP_AT_SP, "fp at sp, return address above")                          \
	X(RA_ABOVE_SP, "return address one word above sp")                     \
	X(FP_FRAME, "frame of fp")                                             \
	X(CALL_TARGET, "frameless stub: the return address of a call to it")   \
	X(RA_IN_RDX, "ExceptionBlob: return address in rdx")                   \
	X(RA_IN_RCX, "C1's exception stub: where it goes on in rcx")           \
	X(CONTINUATION, "moves a virtual thread's frames: its continuation entry")

enum rule {
#define X(name, text) RULE_##name,
	RULES(X)
#undef X
};

/* What carries from frame to frame, and for a leaf what HotSpot's rules need besides. */
struct regs {
	u64 pc, sp, fp;
	u64 ax, bx, cx, dx, si, di, r11, r13, r15; /* valid in a leaf only */
};
_Static_assert(sizeof(struct regs) == UNWALKED_REGS * 8, "unwalked.regs are struct regs");

/* The blob of the code heap that a step stands in. Small, because many are remembered. */
struct blob {
	u64 addr;                 /* CodeBlob * */
	u32 code_start, code_end; /* from addr, [code_start, code_end) */
	u32 deopt, deopt_mh;      /* from addr: where deoptimised frames return; 0: none */
	u32 orig_pc;              /* where such a frame keeps the real pc, from sp; 0: none */
	s32 frame_size;           /* in words; -1: it has no frame of its own */
	s32 frame_complete;       /* from code_start; <= 0: no prologue is known */
	u32 compile_id;           /* 0 if it is no nmethod */
	u32 name;                 /* the lower half of the pointer */
	u32 publication;          /* unwind_proc.publication under which it was found; 0: never */
	u8 class;                 /* enum hotspot_class */
	u8 kind;                  /* enum user_frame_kind of its frames */
};

static __always_inline u64 blob_code(const struct blob *b)
{
	return b->addr + b->code_start;
}

static __always_inline bool blob_holds(const struct blob *b, u64 pc)
{
	return pc - b->addr - b->code_start < b->code_end - b->code_start;
}

#define WALK_BLOCK_BYTES 16 /* >= sizeof(HeapBlock), which precedes a CodeBlob */
#define WALK_CODE_BEFORE 32
#define WALK_CODE_AFTER  32
#define WALK_WORDS       32
#define WALK_WINDOW      64 /* words of the stack that are read at once */

/*
 * What was found lately, by the bits of the pc: the frames of a thread are ever the same, while
 * the tables and the headers of code blobs have left the CPU's caches and TLB between two samples.
 */
#define WALK_ROWS  512
#define WALK_BLOBS 256

struct cached_row {
	u64 pc;
	u32 publication; /* unwind_proc's */
	struct unwind_rule rule;
};

/* A return address on the stack that a uprobe has replaced. */
struct replaced_return {
	u64 at;
	u64 pc; /* the true one */
};

#define WALK_RETURNS 8 /* a power of two */

struct walk {
	struct regs regs;
	u64 tls;         /* the thread pointer, where the thread's local storage is described */
	u32 is_leaf;     /* regs.pc is the next instruction, no return address */
	u32 callee_kind; /* enum user_frame_kind of the frame before */
	u32 rule;        /* enum rule: how the caller was found */
	u32 is_frozen;   /* callers of this frame are missing: a virtual thread's */
	u32 nr_returns, pad;
	struct replaced_return returns[WALK_RETURNS]; /* innermost first */
	struct user_frame frame;                      /* what the step stands on */
	struct unwind_proc proc;
	struct unwind_range range; /* the one found last: frames come in runs */
	struct blob blob;
	u8 code[WALK_CODE_BEFORE + WALK_CODE_AFTER];      /* around the pc of a leaf */
	u64 window_at;                                    /* where the window lies in the stack */
	u64 window_words;                                 /* that are in it */
	u64 window[WALK_WINDOW];                          /* one read for several frames */
	u64 words[WALK_WORDS];                            /* of the stack, where no window fits */
	u8 header[WALK_BLOCK_BYTES + HOTSPOT_HEADER_MAX]; /* HeapBlock's end, then the CodeBlob */
	struct cached_row rows[WALK_ROWS];
	struct blob blobs[WALK_BLOBS];
};

/* The steps are global functions: the verifier looks at each once, not at every call. */

/*
 * Puts the range that holds `addr` into w->range; 0 if there is none, then w->range is as before.
 */
int walk_find_range(struct walk *w, u64 addr);

/* From a frame to its caller; 0 to go on, otherwise why not (enum stat). */
int walk_native(struct walk *w);
int walk_hotspot(struct walk *w);
int walk_interpreter(struct walk *w);

/* Fills w->blob if it is remembered what holds `addr` and still does: returns whether so. */
int walk_recall_blob(struct walk *w, u64 addr);

/* From the code that moves a continuation's frames to the frame that entered it. */
int walk_continuation(struct walk *w);

/* From the return barrier, where regs.pc stands, to the same. */
int walk_barrier(struct walk *w);

/* Fills w->blob for `addr` in a code heap. 0 or enum stat; STAT_NO_JVM if it is in none. */
int walk_find_blob(struct walk *w, u64 addr);

/* Whether `ra` can be what a call in the code heap pushed: the word itself says nothing. */
int walk_is_return_address(const struct hotspot_layout *jvm, u64 ra);

/*
 * Of the instructions by which the interpreter takes back its frame's registers, from their first
 * bytes (is_before_restored_bcp): the length, 0 if it is none of them.
 */
u32 walk_restoring_bytes(u32 code);

/* Moves the window of the stack so that it begins at `at`; 0 if it has `nr` words from there. */
int walk_move_window(struct walk *w, u64 at, u64 nr);

static __always_inline int walk_read(void *out, u32 size, u64 addr)
{
	return bpf_probe_read_user(out, size, (void *)addr);
}

/* `nr` words of the stack, at most WALK_WINDOW; NULL if they cannot be read. */
static __always_inline const u64 *walk_stack(struct walk *w, u64 at, u64 nr)
{
	u64 off = at - w->window_at;

	if (off & 7 || off >= sizeof(w->window) || off / 8 + nr > w->window_words) {
		if (walk_move_window(w, at, nr))
			return NULL;
		off = 0;
	}
	asm volatile("" : "+r"(off)); /* or the compiler drops the mask, which the verifier wants */
	return (const u64 *)((const u8 *)w->window + (off & (sizeof(w->window) - 8)));
}

static __always_inline bool walk_is_code(const struct hotspot_layout *jvm, u64 addr)
{
	return addr - jvm->bounds_start < jvm->bounds_end - jvm->bounds_start;
}

/* The code heap that holds `addr`, NULL if none does. */
static __always_inline const struct hotspot_heap *walk_heap(const struct hotspot_layout *jvm,
							    u64 addr)
{
	for (u32 i = 0; i < HOTSPOT_HEAPS; i++)
		if (addr - jvm->heaps[i].start < jvm->heaps[i].end - jvm->heaps[i].start)
			return &jvm->heaps[i];
	return NULL;
}

static __always_inline bool walk_is_interpreter(const struct hotspot_layout *jvm, u64 addr)
{
	return addr - jvm->interpreter_start < jvm->interpreter_end - jvm->interpreter_start;
}

/* Whether a virtual thread's frames have gone, and sp is at its ContinuationEntry. */
static __always_inline bool walk_is_popped(const struct walk *w, const struct hotspot_layout *jvm)
{
	for (u32 i = 0; i < HOTSPOT_POPPED; i++)
		if (w->regs.pc - jvm->popped[i].start < jvm->popped[i].end - jvm->popped[i].start)
			return true;
	return false;
}
