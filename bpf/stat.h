/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The list of counters. To add a counter, add an entry. BPF counts by name, per CPU. User space
 * shows the rest (capture/kernel/counters.h):
 *
 *   key       stable, for notes in profiles and for programs
 *   sentence  names the counted stacks or samples; printed after their number
 *   severity  NORMAL: no problem; INEXACT: details may be wrong; LOST: data is missing
 *   reads     what user space must be able to read of the process to avoid this: MAPPINGS,
 *             MEMORY, FILES or NOTHING. Without that right the remedy is the capability for it.
 *   remedy    "" if NORMAL
 */
#pragma once

#define STATS(X)                                                                                   \
	X(SAMPLES, "samples", "samples taken", NORMAL, NOTHING, "")                                \
	X(IDLE, "idle", "samples of the idle task, skipped", NORMAL, NOTHING, "")                  \
	X(FILTERED, "filtered", "samples of processes that are not targets, skipped", NORMAL,      \
	  NOTHING, "")                                                                             \
	X(OTHER_CPU, "other_cpu", "samples on CPUs that -C leaves out, skipped", NORMAL, NOTHING,  \
	  "")                                                                                      \
	X(WINDOW, "window", "samples before --begin-function and after --end-function, skipped",   \
	  NORMAL, NOTHING, "")                                                                     \
	X(RING_FULL, "ring_full", "samples lost: the ring buffer was full", LOST, NOTHING,         \
	  "take a larger --ring, a lower -F or fewer events")                                      \
	X(RING_LOCKED, "ring_locked",                                                              \
	  "samples lost: another CPU held the ring buffer's lock during an NMI", LOST, NOTHING,    \
	  "record cpu, whose timer is no NMI, or take a larger --period")                          \
	X(EVENT_LOST, "events_lost", "process events lost: the ring buffer was full", LOST,        \
	  NOTHING, "some processes may lack names or probes; take a larger --ring")                \
	X(MAPPING_LOST, "mappings_lost",                                                           \
	  "reports of mappings and names lost: the kernel's buffer was full", LOST, NOTHING,       \
	  "programs started or mapped files faster than sysflame got CPU to read; mappings are "   \
	  "read again; until then stacks may be cut; record for longer")                           \
	X(NO_SCRATCH, "no_scratch", "samples lost: a CPU without a scratch record", LOST, NOTHING, \
	  "CPUs were added; record again")                                                         \
	X(THROTTLED, "throttled",                                                                  \
	  "samples lost: more would have slowed the program down too much", LOST, NOTHING,         \
	  "sums are too small; take a larger interval or --period")                                \
	X(BUSY, "busy", "samples lost: too many were under way on one CPU", LOST, NOTHING,         \
	  "take a lower -F or fewer events")                                                       \
	X(SKIPPED, "skipped",                                                                      \
	  "samples lost: the kernel was running another BPF program or changing a BPF map", LOST,  \
	  NOTHING,                                                                                 \
	  "sysflame changes maps as it begins: record for longer; beside another tool's programs " \
	  "some are lost all the time: `bpftool prog` lists them")                                 \
	X(LATE, "late",                                                                            \
	  "samples lost: the CPU's timer was late, as interrupts were off or the machine paused",  \
	  LOST, NOTHING, "what ran meanwhile is missing; `st` in vmstat shows paused time")        \
	X(DECLINED, "declined",                                                                    \
	  "samples lost: the kernel declined to run the event's program beside another one", LOST, \
	  NOTHING, "another tool's programs run often or for long; `bpftool prog` lists them")     \
	X(WAIT_LOST, "wait_lost", "waits lost: there was no memory to store their start", LOST,    \
	  NOTHING, "sample fewer processes, or take a larger minimum")                             \
	X(LEAK_UNTRACKED, "untracked", "allocations not tracked: they may have been freed since",  \
	  LOST, NOTHING, "too many are followed; take a larger interval")                          \
	X(CONTEXT_UNREADABLE, "context_unreadable",                                                \
	  "samples whose context of a request could not be read", INEXACT, MEMORY,                 \
	  "its record lies in memory that is swapped out, or its address is wrong")                \
	X(ROOT, "root", "user stacks that reached the thread's root", NORMAL, NOTHING, "")         \
	X(NO_USER, "no_user",                                                                      \
	  "samples without a user stack: kernel threads, threads that end or execute a program",   \
	  NORMAL, NOTHING, "")                                                                     \
	X(KERNEL_ONLY, "kernel_only",                                                              \
	  "samples without user stacks, as continuous profiling has to save CPU time", NORMAL,     \
	  NOTHING, "")                                                                             \
	X(UNWALKED, "unwalked", "user stacks of processes just seen, walked by user space",        \
	  NORMAL, NOTHING, "")                                                                     \
	X(FRAME_POINTERS, "cut_frame_pointers",                                                    \
	  "user stacks by frame pointers: where they end is unknown", LOST, MAPPINGS,              \
	  "its mappings were not read yet: sysflame got too little CPU, or reports of them were "  \
	  "lost; record for longer")                                                               \
	X(DEPTH, "cut_depth", "user stacks cut: more than 1024 frames", LOST, NOTHING,             \
	  "look for an endless recursion")                                                         \
	X(UNREADABLE, "cut_unreadable", "user stacks cut: memory could not be read", LOST, MEMORY, \
	  "pages of its stacks are swapped out; give the node more memory")                        \
	X(STACK_SHORT, "cut_stack_short",                                                          \
	  "user stacks cut: larger than the 16 KB kept of a process just seen", LOST, NOTHING,     \
	  "only stacks of its first moments lack callers; record for longer")                      \
	X(NULL_PC, "cut_null_pc", "user stacks cut: an invalid return address", LOST, NOTHING,     \
	  "its unwind information is wrong; `sysflame debug unwind PID` shows where")              \
	X(NO_MAPPING, "cut_no_mapping", "user stacks cut: a pc in no known mapping", LOST,         \
	  MAPPINGS, "it maps and unmaps code fast; record for longer")                             \
	X(NO_ROW, "cut_no_row", "user stacks cut: the module has no unwind row for the pc", LOST,  \
	  FILES,                                                                                   \
	  "its code has no .eh_frame: generated, or built without -fasynchronous-unwind-tables")   \
	X(NO_TABLES, "cut_no_tables",                                                              \
	  "user stacks cut: Java code of a JVM whose tables are not read", LOST, MEMORY,           \
	  "record for longer; `sysflame jvms -v` shows whether they can be read")                  \
	X(ROW_UNSUPPORTED, "cut_row_unsupported",                                                  \
	  "user stacks cut: a rule that rows cannot express", LOST, NOTHING,                       \
	  "it runs hand-written code; `sysflame debug unwind PID` shows where")                    \
	X(ROW_REGISTER, "cut_row_register",                                                        \
	  "user stacks cut: a rule by a register that only leaves have", LOST, NOTHING,            \
	  "it runs hand-written code; `sysflame debug unwind PID` shows where")                    \
	X(BAD_CFA, "cut_bad_cfa", "user stacks cut: a frame of impossible size", LOST, NOTHING,    \
	  "its unwind information is wrong; `sysflame debug unwind PID` shows where")              \
	X(LOOP, "cut_loop", "user stacks cut: the stack pointer did not grow", LOST, NOTHING,      \
	  "its unwind information is wrong; `sysflame debug unwind PID` shows where")              \
	X(NO_JVM, "cut_no_jvm", "user stacks cut: a code heap without its JVM's layout", LOST,     \
	  NOTHING, "there are more JVMs than room; sample fewer, by -p")                           \
	X(SEGMAP_UNREADABLE, "cut_segmap", "user stacks cut: a segment map could not be read",     \
	  LOST, MEMORY, "its code cache is swapped out; give the node more memory")                \
	X(BLOB_UNREADABLE, "cut_blob",                                                             \
	  "user stacks cut: the header of a code blob could not be read", LOST, MEMORY,            \
	  "its code cache is swapped out; give the node more memory")                              \
	X(NO_BLOB, "cut_no_blob", "user stacks cut: a pc in no used block of the code heap", LOST, \
	  NOTHING, "report it, with the version of the JDK")                                       \
	X(BAD_BLOB, "cut_bad_blob", "user stacks cut: a code blob with an impossible frame size",  \
	  LOST, NOTHING, "report it, with the version of the JDK")                                 \
	X(INTERPRETER_FRAME, "cut_interpreter", "user stacks cut: an invalid interpreter frame",   \
	  LOST, NOTHING, "report it, with the version of the JDK")                                 \
	X(STUB_FRAME, "cut_stub", "user stacks cut: a stub of unknown shape", LOST, NOTHING,       \
	  "report it, with the version of the JDK")                                                \
	X(CONTINUATION, "cut_continuation",                                                        \
	  "user stacks cut: a virtual thread whose carrier is unknown", LOST, NOTHING,             \
	  "report it, with the version of the JDK")                                                \
	X(RETURN_ADDRESS, "cut_return_address",                                                    \
	  "user stacks cut: no return address above a compiled frame", LOST, NOTHING,              \
	  "report it, with the version of the JDK")                                                \
	X(FROZEN, "frozen", "user stacks cut: callers of a virtual thread are on the Java heap",   \
	  LOST, NOTHING, "its methods and their self time are right, their callers are missing")   \
	X(NATIVE_GAP, "native_gap", "stacks that lack native callers below their Java frames",     \
	  INEXACT, NOTHING, "build the native library with -fasynchronous-unwind-tables")          \
	X(SEARCHED, "searched", "return addresses that had to be searched", INEXACT, NOTHING,      \
	  "a caller may be missing")                                                               \
	X(NATIVE_CALLER, "native_caller",                                                          \
	  "frames of the code heap with a native caller: likely wrong", INEXACT, NOTHING,          \
	  "report it, with the version of the JDK")

enum stat_id {
#define X(name, ...) STAT_##name,
	STATS(X)
#undef X
	NR_STATS
};

/* The reasons for which a user stack ends before its root. Add new ones between these two. */
#define STAT_FIRST_CUT STAT_FRAME_POINTERS
#define STAT_LAST_CUT  STAT_FROZEN
