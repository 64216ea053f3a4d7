/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A walk over a user stack: its state, the data of each step, the functions for each kind. */
#pragma once

#include "kernel.h"

#include "abi.h"
#include "hotspot_abi.h"
#include "stat.h"

/* How the caller of a frame was found. `sysflame debug unwind` prints the texts. */
#define RULES(X)                                                                   \
	X(NONE, "no rule: the walk ends here")                                     \
	X(ROW_SP, "row: CFA from sp")                                              \
	X(ROW_FP, "row: CFA from fp")                                              \
	X(ROW_PLT, "row: PLT")                                                     \
	X(ROW_END, "row: outermost frame")                                         \
	X(ROW_SIGNAL, "row: registers from the signal frame")                      \
	X(ROW_FP_DEREF, "row: realigned stack")                                    \
	X(ROW_SP_DEREF, "row: CFA saved on the stack")                             \
	X(ROW_REGISTER, "row: CFA from a leaf's register")                         \
	X(ROW_SWITCH, "row: CFA from fp, on another stack")                        \
	X(ROW_ENTRY, "row: entry point, at the process's first sp")                \
	X(ROW_IN_REGISTER, "row: return address in a leaf's register")             \
	X(THREAD_START, "start of musl's main or of a thread, by its code")        \
	X(NO_ROW_LEAF, "leaf without a row: return address at sp")                 \
	X(GENERATED, "generated code: frame of fp")                                \
	X(GENERATED_SP, "generated code: return address by its instructions")      \
	X(INTERPRETER, "interpreter frame")                                        \
	X(INTERPRETER_ENTRY, "interpreter frame under construction")               \
	X(INTERPRETER_EXIT, "interpreter frame just left")                         \
	X(FRAME_SIZE, "frame size of the blob")                                    \
	X(FRAME_SIZE_FP, "frame size of the blob, fp not saved yet")               \
	X(MATH, "frame size, above all registers saved for C")                     \
	X(SEARCH, "frame size, then the next return address in the code heap")     \
	X(RA_AT_SP, "return address at sp")                                        \
	X(FP_AT_SP, "fp at sp, return address above")                              \
	X(RA_ABOVE_SP, "return address one word above sp")                         \
	X(FP_FRAME, "frame of fp")                                                 \
	X(CALL_TARGET, "frameless stub: the return address of a call to it")       \
	X(ADAPTER, "adapter: the caller's sp is in r13")                           \
	X(RA_IN_RDX, "ExceptionBlob: return address in rdx")                       \
	X(RA_IN_RCX, "C1's exception stub: handler in rcx")                        \
	X(CONTINUATION, "moves a virtual thread's frames: its continuation entry") \
	X(CHUNK, "from the stack to a chunk on the heap, or back")                 \
	X(CHUNK_FRAME, "frame size or link, in a chunk on the heap")               \
	X(LAST_JAVA_FRAME, "no rule: goes on at the thread's last Java frame")     \
	X(LINK, "return address in x30")                                           \
	X(LINK_FRAME, "return address in x30, the frame has its size")

enum rule {
#define X(name, text) RULE_##name,
	RULES(X)
#undef X
};

_Static_assert(sizeof(struct regs) == REGS_WORDS * 8, "unwalked.regs are struct regs");

/* The blob of the code heap that a step is in. Kept small, because many are cached. */
struct blob {
	u64 addr;                 /* CodeBlob * */
	u32 code_start, code_end; /* from addr, [code_start, code_end) */
	u32 deopt, deopt_mh;      /* from addr: where deoptimised frames return; 0: none */
	u32 orig_pc;              /* from sp: where such a frame keeps the real pc; 0: none */
	s32 frame_size;           /* in words; -1: no frame of its own */
	s32 frame_complete;       /* from code_start; <= 0: no known prologue */
	u32 compile_id;           /* 0 if it is not an nmethod */
	u32 name;                 /* lower half of the pointer */
	u32 publication;          /* unwind_proc.publication for which it was found; 0: never */
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
#define WALK_WINDOW      64            /* words of the stack per read */
#define WALK_FRAME_MAX   (64ULL << 20) /* bytes: a larger frame means a wrong rule or garbage */

/*
 * Caches of recent results, indexed by bits of the pc. The frames of a thread hardly change between
 * two samples, but tables and blob headers have left the CPU's caches and TLB by then.
 */
#define WALK_ROWS  512
#define WALK_BLOBS 256

struct cached_row {
	u64 pc;
	u32 publication; /* of unwind_proc */
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
	u64 tls;         /* thread pointer, base of the thread-local storage */
	u64 start_stack; /* sp at which the process's first thread began; 0 if unknown */
	u32 is_leaf;     /* regs.pc is the next instruction, not a return address */
	u32 callee_kind; /* enum user_frame_kind of the previous frame */
	u32 rule;        /* enum rule that found the caller */
	u32 marker;      /* kind of the marker for missing callers of this frame; 0: none */
	u32 nr_returns;
	u32 is_frozen; /* a marker USER_FRAME_FROZEN is in the stack */
	u32 yields;    /* doYield is in the stack; 2: top_pc is its caller's */
	u64 top_pc; /* of the frame that a chunk begins with after a freeze; 0: none is under way */
	u64 chunk;  /* StackChunk in which the walk is .. */
	u64 chunk_end;  /* .. and the bottom of its stack; 0: the walk is on the stack */
	u64 thaw_sp;    /* of the stub that thaws, while libjvm runs for it; 0: none */
	u64 object;     /* found by walk_follow() */
	u64 entry;      /* ContinuationEntry at which it goes on then */
	u32 at_barrier; /* the caller of this frame is in a chunk of `entry` */
	struct replaced_return returns[WALK_RETURNS]; /* innermost first */
	struct user_frame frame;                      /* the current frame */
	struct unwind_proc proc;
	struct unwind_range range; /* the one found last: adjacent frames often share it */
	struct blob blob;
	u8 code[WALK_CODE_BEFORE + WALK_CODE_AFTER];      /* around the pc of a leaf */
	u64 window_at;                                    /* address of the window in the stack */
	u64 window_words;                                 /* valid words in the window */
	u64 window[WALK_WINDOW];                          /* one read serves several frames */
	u64 words[WALK_WORDS];                            /* of the stack, where no window fits */
	u8 header[WALK_BLOCK_BYTES + HOTSPOT_HEADER_MAX]; /* end of HeapBlock, then the CodeBlob */
	struct cached_row rows[WALK_ROWS];
	struct blob blobs[WALK_BLOBS];
};

/* The steps are global functions: the verifier checks each one once, not at every call. */

/* Sets w->range to the range that holds `addr`. Returns 0 and keeps w->range if no range does. */
int walk_find_range(struct walk *w, u64 addr);

/* Steps from a frame to its caller. Returns 0 to continue, or the reason to end (enum stat_id). */
int walk_native(struct walk *w);
int walk_hotspot(struct walk *w);
int walk_interpreter(struct walk *w);

/* Fills w->blob with a cached blob that holds `addr` and still exists; returns whether it did. */
int walk_recall_blob(struct walk *w, u64 addr);

/*
 * Steps from the code that moves a continuation's frames to the frame that entered the
 * continuation.
 */
int walk_continuation(struct walk *w);

/* One frame of a chunk (chunk.bpf.c), and the way into the chunks. */
int walk_chunk(struct walk *w);
int walk_enter_chunks(struct walk *w);
int walk_next_chunk(struct walk *w);
int walk_find_taken(struct walk *w);
int walk_find_moved(struct walk *w);
int walk_follow(struct walk *w, u64 addr);
int walk_find_object(struct walk *w, u64 addr);

/* Sets w->frame by w->blob, for the pc in w->frame.addr. */
int walk_set_frame(struct walk *w);

/* As walk_continuation(), for a walk that has reached the return barrier: regs.pc lies there. */
int walk_barrier(struct walk *w);

/* Steps from native code without a rule to the last Java frame of the thread; returns whether. */
int walk_last_java_frame(struct walk *w);

/*
 * Fills w->blob for `addr` in a code heap. Returns 0 or enum stat_id; STAT_NO_JVM if no heap holds
 * it.
 */
int walk_find_blob(struct walk *w, u64 addr);

/*
 * Whether `ra` can be the return address of a call in the code heap, judged by the code before it.
 */
int walk_is_return_address(const struct hotspot_layout *jvm, u64 ra);

/*
 * The length of an instruction by which the interpreter restores the registers of its frame, 0 if
 * it is not such an instruction. `code` is its first bytes. See is_before_restored_bcp.
 */
u32 walk_restoring_bytes(u32 code);

/* Moves the stack window to begin at `at`. Returns 0 if it then has `nr` words. */
int walk_move_window(struct walk *w, u64 at, u64 nr);

static __always_inline int walk_read(void *out, u32 size, u64 addr)
{
	return bpf_probe_read_user(out, size, (void *)addr);
}

/* `nr` words of the stack, at most WALK_WINDOW; NULL if they are unreadable. */
static __always_inline const u64 *walk_stack(struct walk *w, u64 at, u64 nr)
{
	u64 off = at - w->window_at;

	if (off & 7 || off >= sizeof(w->window) || off / 8 + nr > w->window_words) {
		if (walk_move_window(w, at, nr))
			return NULL;
		off = 0;
	}
	keep_as_written(off); /* the mask */
	return (const u64 *)((const u8 *)w->window + (off & (sizeof(w->window) - 8)));
}

static __always_inline bool walk_is_code(const struct hotspot_layout *jvm, u64 addr)
{
	return addr - jvm->bounds_start < jvm->bounds_end - jvm->bounds_start;
}

/*
 * The true return address of a function with a return probe: the stack has the trampoline's address
 * instead.
 */
static __always_inline u64 walk_true_return(const struct walk *w, u64 at, u64 pc)
{
	for (u32 i = 0; i < WALK_RETURNS && i < w->nr_returns; i++)
		if (w->returns[i].at == at)
			return w->returns[i].pc;
	return pc;
}

#define WALK_START_BELOW 1024 /* bytes below a process's first sp: frames that lead to main */
#define WALK_START_ABOVE 4096 /* bytes above: arguments that ld.so skips */

/*
 * Whether sp is near the place where the kernel put it when the process began. No other thread's
 * stack is there.
 */
static __always_inline bool walk_is_at_start(const struct walk *w)
{
	return w->start_stack && w->regs.sp - (w->start_stack - WALK_START_BELOW) <
					 WALK_START_BELOW + WALK_START_ABOVE;
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

/* Whether a virtual thread's frames are off the stack and sp is at its ContinuationEntry. */
static __always_inline bool walk_is_popped(const struct walk *w, const struct hotspot_layout *jvm)
{
	for (u32 i = 0; i < HOTSPOT_POPPED; i++)
		if (w->regs.pc - jvm->popped[i].start < jvm->popped[i].end - jvm->popped[i].start)
			return true;
	return false;
}
