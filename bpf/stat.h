/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The counters, one list: name and sentence. BPF counts them per CPU; the summary, the page and
 * the documents show the sentence. Adding one is adding its line.
 */
#pragma once

#define STATS(X)                                                                           \
	X(SAMPLES, "samples taken")                                                        \
	X(IDLE, "samples of the idle task, skipped")                                       \
	X(FILTERED, "samples of processes that were not asked for, skipped")               \
	X(WINDOW, "samples before --begin and after --end, skipped")                       \
	X(RING_FULL, "samples lost: the ring buffer was full")                             \
	X(EVENT_LOST, "process events lost: the ring buffer was full")                     \
	X(NO_SCRATCH, "samples lost: a CPU without a scratch record")                      \
	X(THROTTLED, "samples lost: so many would have held the program up")               \
	X(SPARSE, "samples of waits that stand for more, as there were so many")           \
	X(BUSY, "samples lost: too many under way on one CPU")                             \
	X(WAIT_LOST, "waits lost: no memory to note when they began")                      \
	X(LEAK_UNTRACKED, "allocations of which it is not known whether they were freed")  \
	X(ROOT, "user stacks that reached the thread's root")                              \
	X(NO_USER, "samples without a user stack: kernel threads")                         \
	X(UNWALKED, "user stacks of processes just seen, walked by user space")            \
	X(FRAME_POINTERS, "user stacks by frame pointers: where they end is unknown")      \
	X(DEPTH, "user stacks cut: more than 1024 frames")                                 \
	X(UNREADABLE, "user stacks cut: memory could not be read")                         \
	X(NULL_PC, "user stacks cut: a return address that is no address")                 \
	X(NO_MAPPING, "user stacks cut: a pc in no mapping that we know of")               \
	X(NO_ROW, "user stacks cut: the module has no unwind row for the pc")              \
	X(ROW_UNSUPPORTED, "user stacks cut: a rule that rows cannot express")             \
	X(ROW_REGISTER, "user stacks cut: a rule by a register that only leaves have")     \
	X(BAD_CFA, "user stacks cut: a frame of impossible size")                          \
	X(LOOP, "user stacks cut: the stack pointer did not grow")                         \
	X(NO_JVM, "user stacks cut: a code heap without its JVM's layout")                 \
	X(SEGMAP_UNREADABLE, "user stacks cut: a segment map could not be read")           \
	X(BLOB_UNREADABLE, "user stacks cut: the header of a code blob could not be read") \
	X(NO_BLOB, "user stacks cut: a pc in no used block of the code heap")              \
	X(BAD_BLOB, "user stacks cut: a code blob with an impossible frame size")          \
	X(INTERPRETER_FRAME, "user stacks cut: an interpreter frame that is none")         \
	X(STUB_FRAME, "user stacks cut: a stub of unknown shape")                          \
	X(CONTINUATION, "user stacks cut: a virtual thread whose carrier is unknown")      \
	X(RETURN_ADDRESS, "user stacks cut: no return address above a compiled frame")     \
	X(FROZEN, "stacks of virtual threads that lack callers, which are on the heap")    \
	X(SEARCHED, "return addresses that had to be searched")                            \
	X(NATIVE_CALLER, "frames of the code heap with a native caller: likely wrong")

enum stat {
#define X(name, text) STAT_##name,
	STATS(X)
#undef X
	NR_STATS
};

/* Why a user stack ended without its root: new reasons go between these two. */
#define STAT_FIRST_CUT STAT_FRAME_POINTERS
#define STAT_LAST_CUT  STAT_RETURN_ADDRESS

static const char *const stat_text[] __attribute__((unused)) = {
#define X(name, text) [STAT_##name] = text,
	STATS(X)
#undef X
};
