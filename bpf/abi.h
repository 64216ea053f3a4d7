/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the BPF programs and user space share: ring-buffer records, map keys and values. */
#pragma once

#ifndef __VMLINUX_H__ /* BPF sources take these types from vmlinux.h */
#include <linux/types.h>
#endif

#include "hotspot_abi.h"

#define ABI_COMM_LEN      16
#define ABI_KERNEL_FRAMES 127
#define ABI_USER_FRAMES   1024
#define ABI_SAMPLE_WORDS  4096 /* a power of two >= ABI_KERNEL_FRAMES + 2 * ABI_USER_FRAMES */
#define ABI_EVENTS        16   /* in one recording; a power of two */

/*
 * What processes are selected by. A process is sampled if selectors of all kinds that are in use
 * select it; the same bits SELECT_EXCLUDE_SHIFT higher exclude it.
 */
enum select {
	SELECT_PID = 1, /* children inherit it */
	SELECT_COMM = 2,
	SELECT_USER = 4, /* the effective one */
	SELECT_JVM = 8,
	SELECT_CGROUP = 16,
	SELECT_CONTAINER = 32, /* by its control group, like the next one */
	SELECT_POD = 64,
};

#define SELECT_EXCLUDE_SHIFT 16

struct comm_key {
	char comm[ABI_COMM_LEN]; /* of the thread group's leader; all bytes behind the text 0 */
};

/* A control group; the ids of one hierarchy are unique, and those of version 1 are many. */
struct cgroup_key {
	__u64 id;     /* the inode of its folder */
	__u32 subsys; /* the kernel's number of a controller of the hierarchy, or CGROUP_UNIFIED */
	__u32 pad;
};

#define CGROUP_UNIFIED     0xffffffffu /* version 2 */
#define TARGET_CGROUPS_MAX 16384       /* that selectors stand for */
#define CGROUP_DEPTH       32          /* folders above a process that are looked at */

/* The first word of every ring-buffer record. */
enum record_kind {
	RECORD_SAMPLE = 1,
	RECORD_FORK,
	RECORD_EXEC,
	RECORD_EXIT,
	RECORD_HEADLESS, /* a process goes on without its main thread */
	RECORD_UNWALKED, /* a sample with a struct unwalked instead of user frames */
	RECORD_FREED,
	RECORD_PENDING, /* a sample of a wait that lasts when recording ends */
};

/* A process is (pid, start_ns): a PID that is used again has another start. */
struct task_id {
	__u32 pid, tid;
	__u64 start_ns; /* CLOCK_BOOTTIME, of the thread group's leader */
};
_Static_assert(sizeof(struct task_id) == 16, "task_id is part of the record ABI");

/*
 * A user frame: where it is, what it is, and what naming it later needs to see that the memory
 * still holds what was sampled. `info` is, from the top: 8 bits enum user_frame_kind, 4 bits
 * flags, and for
 * - frames of the code heap 28 bits compile id (0 if the blob is no nmethod) and 24 bits
 *   addr - CodeBlob *, all ones if it does not fit;
 * - interpreted frames the bytecode pointer, which must lie in the ConstMethod's code, 0 if
 *   unknown;
 * - classes a number: for allocations the mean distance in bytes at which they are sampled, for
 *   waits the duration in ns from which on all are told; of a Klass enum klass_place.
 */
struct user_frame {
	__u64 addr; /* pc; Method * for USER_FRAME_INTERPRETED */
	__u64 info;
};

#define USER_FRAME_KIND_SHIFT  56
#define USER_FRAME_LEAF        (1ULL << 55) /* addr is the next instruction, no return address */
#define USER_FRAME_APPROXIMATE (1ULL << 54) /* found by search, or a sub-frame may be missing */
#define USER_FRAME_BCP_MASK    ((1ULL << 52) - 1)
#define USER_FRAME_DETAIL_MASK ((1ULL << 52) - 1)
#define USER_FRAME_BLOB_MASK   ((1ULL << 24) - 1)
#define USER_FRAME_ID_SHIFT    24
#define USER_FRAME_ID_MASK     ((1ULL << 28) - 1)

enum user_frame_kind {
	USER_FRAME_NATIVE,      /* code of a file, or of no known origin */
	USER_FRAME_COMPILED,    /* an nmethod of C1 or C2 */
	USER_FRAME_WRAPPER,     /* an nmethod around a native method */
	USER_FRAME_STUB,        /* any other blob of the code heap */
	USER_FRAME_VTABLE,      /* a vtable or itable stub */
	USER_FRAME_INTERPRETED, /* addr is the Method * */
	USER_FRAME_INTERPRETER, /* the interpreter, but no method is known; addr is the pc */
	USER_FRAME_FROZEN,      /* no frame: here callers of a virtual thread are missing; addr 0 */
	/* No frames, but what an allocation or a wait is about: */
	USER_FRAME_CLASS, /* a class; addr is the agent's number of it */
	USER_FRAME_KLASS, /* a class; addr is the Klass * */
};

/* Where the object of a Klass lies. */
enum klass_place {
	KLASS_IN_TLAB = 1, /* in the buffer of its thread */
	KLASS_OUTSIDE_TLAB,
};

/* The record's head; its words follow: first the kernel pcs, then the user frames. */
struct sample {
	__u32 kind;  /* RECORD_SAMPLE or RECORD_PENDING */
	__u16 event; /* number of the event in the recording, < ABI_EVENTS */
	__u16 stop;  /* enum stat: why the user stack ended, STAT_ROOT if complete */
	struct task_id task;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 weight;  /* in the event's unit; user space may weigh it again (event_kind.h) */
	char comm[ABI_COMM_LEN];
	__u16 cpu;
	__u16 state;     /* enum thread_state */
	__u16 nr_kernel; /* u64 pcs, leaf first */
	__u16 nr_user;   /* struct user_frame, leaf first */
	__u64 unloads;   /* classes that its JVM had unloaded by then, and 1 more; 0: not known */
	union {          /* what an event tells besides */
		__u64 unit_ns;          /* waits: a shorter one had a chance of duration / unit */
		__u64 allocator_return; /* mmap: where the last call of an allocator that the
					 * program brings with it returns to; 0: it was none */
	};
};
_Static_assert(sizeof(struct sample) == 80, "sample is part of the record ABI");

/*
 * The user stack of a process that has no tables yet, in the place of frames, whose number is its
 * size. What it was at that moment must be kept: it may be gone when user space has made tables.
 */
#define UNWALKED_STACK_BYTES 16384
#define UNWALKED_REGS        12

struct unwalked {
	__u64 regs[UNWALKED_REGS]; /* struct regs */
	__u64 tls;
	struct user_frame leaf; /* what the sample is about, which is no code; info 0: none */
	__u64 stack_bytes;
	__u64 stack[]; /* from sp on */
};

/* A thread that still waits when recording ends. */
struct pending {
	struct sample sample; /* weight: CLOCK_MONOTONIC since when it waits; no user frames */
	__u64 pc, sp, fp, ax, bx, r13, r15; /* with which it entered the kernel */
	__u64 tls;                          /* thread pointer */
	__u64 events;                       /* enum wait_event it counts for, as bits */
	__u64 kernel[ABI_KERNEL_FRAMES];
};

/* A process began as another's child, runs another program, or ended in part or whole. */
struct process_record {
	__u32 kind;       /* RECORD_FORK to RECORD_HEADLESS */
	__u32 parent_pid; /* RECORD_FORK only */
	struct task_id task;
	__u64 time_ns;
	char comm[ABI_COMM_LEN];
	__u64 is_wanted; /* it is to be sampled */
};
_Static_assert(sizeof(struct process_record) == 56, "process_record is part of the record ABI");

/* Memory that was sampled is free again. */
struct freed_record {
	__u32 kind; /* RECORD_FREED */
	__u32 tid;  /* of the sample */
	__u64 sample_ns;
	__u64 time_ns;
};
_Static_assert(sizeof(struct freed_record) == 24, "freed_record is part of the record ABI");

/* Sampled memory that is not free yet, and the sample it stands for. */
struct memory_key {
	__u64 addr; /* or the object's number, see bpf/held.h */
	__u64 pid;
};

struct memory_live {
	__u64 sample_ns;
	__u64 tid;
};

/* Where the function that was called has what it needs. */
enum memory_call_kind {
	MEMORY_MALLOC,         /* (size) */
	MEMORY_NEW,            /* (size, ..); ends in a jump to another one or an exception, too */
	MEMORY_NEW_NOTHROW,    /* the same without exceptions */
	MEMORY_CALLOC,         /* (nr, size) */
	MEMORY_REALLOC,        /* (old, size) */
	MEMORY_ALIGNED,        /* (alignment, size) */
	MEMORY_POSIX_MEMALIGN, /* (out, alignment, size) */
	MEMORY_MMAP,           /* (address, size, protection, flags, ..) */
	MEMORY_FREE,           /* (address) */
	NR_MEMORY_CALLS,
};

/* The cookie of their probes. */
#define MEMORY_COOKIE(file, function, call) ((__u64)(file) << 16 | (function) << 8 | (call))
#define MEMORY_COOKIE_FILE(cookie)          ((__u32)((cookie) >> 16))
#define MEMORY_COOKIE_FUNCTION(cookie)      ((cookie) >> 8 & (MEMORY_FUNCTIONS - 1))
#define MEMORY_COOKIE_CALL(cookie)          ((cookie)&0x7f)
#define MEMORY_COOKIE_PROGRAM               0x80 /* the file is a program, as in memory_file */

#define MEMORY_FILES     256 /* with an allocator, in one recording */
#define MEMORY_FUNCTIONS 64  /* of one file; a power of two */

/* A file with an allocator; all are offsets in the file, [start, end). */
struct memory_file {
	__u64 code_start, code_end;
	__u64 is_program; /* other code of it may allocate as well */
	__u64 nr;
	struct {
		__u64 start, end;
	} functions[MEMORY_FUNCTIONS];
};

/* What the sampled thread did, where the event tells. */
enum thread_state {
	STATE_NONE,     /* the event is not about that */
	STATE_RUNNING,  /* on a CPU */
	STATE_RUNNABLE, /* had to leave the CPU though it could run */
	STATE_SLEEPING, /* waits, and a signal would wake it: S */
	STATE_DISK,     /* waits and cannot be disturbed: D */
	STATE_STOPPED,  /* by a signal or a debugger: T, t */
	STATE_IDLE,     /* waited all the time that was recorded; user space tells */
	NR_STATES,
};

/*
 * Where samples are built; each has a record of its own per CPU, because one may interrupt another.
 * In the order of how likely they are used: records of later ones are not allocated if unused.
 */
enum slot {
	SLOT_PERF,   /* perf events; the kernel runs one at a time on a CPU */
	SLOT_SWITCH, /* a thread that got the CPU back */
	SLOT_TRACE,  /* tracepoints; the kernel runs one at a time on a CPU */
	SLOT_UPROBE, /* uprobes, which may be preempted: several */
	NR_SLOTS = SLOT_UPROBE + 4,
};

/* How the caller's frame is found from a pc on; sorted by pc. */
struct unwind_row {
	__u32 pc;      /* from the start of the image, the lowest p_vaddr of PT_LOAD down to 4 KB */
	__u16 cfa_off; /* in words of 8 bytes; signed for ROW_FP_DEREF and ROW_SP_DEREF */
	__u8 kind;     /* enum row_kind */
	__s8 fp_off;   /* saved frame pointer relative to the CFA, in words; 0: fp unchanged */
};
_Static_assert(sizeof(struct unwind_row) == 8, "unwind_row is part of the cache on disk");

/* Persistent in the cache of tables on disk: append only. */
enum row_kind {
	ROW_NONE = 0,        /* no rule: a gap between functions */
	ROW_SP = 1,          /* CFA = sp + cfa_off */
	ROW_FP = 2,          /* CFA = fp + cfa_off */
	ROW_PLT = 3,         /* CFA = sp + 8, + 8 more if (pc & 15) >= 11 */
	ROW_END = 4,         /* outermost frame: the stack is complete */
	ROW_SIGNAL = 5,      /* the interrupted registers lie on the stack */
	ROW_FP_DEREF = 6,    /* CFA = *(fp + cfa_off), saved fp at *fp: realigned stacks */
	ROW_UNSUPPORTED = 7, /* a rule that rows cannot express */
	ROW_SP_DEREF = 8,    /* CFA = *(sp + cfa_off) + 8: libcrypto's vector code */
	ROW_REGISTER = 9,    /* CFA = register + words, both in cfa_off; only a leaf has it */
};

/* cfa_off of ROW_REGISTER; the number is DWARF's. */
#define ROW_REGISTER_SHIFT     12
#define ROW_REGISTER_WORDS_MAX ((1u << ROW_REGISTER_SHIFT) - 1)

/* A part of a process's memory that can be executed; the ranges of a process are sorted. */
struct unwind_range {
	__u64 start, end; /* [start, end) */
	__u64 bias;       /* RANGE_ROWS: rows are sorted by pc - bias */
	__u32 first_page; /* RANGE_ROWS: index in unwind_rows, see UNWIND_PAGE_SHIFT */
	__u32 nr_pages;
	__u32 kind; /* enum range_kind */
	__u32 pad;
};
_Static_assert(sizeof(struct unwind_range) == 40, "unwind_range is part of the map ABI");

/*
 * A module's part of unwind_rows, where a search reads few cache lines, which are cold in a program
 * that is only sampled: for each page of its image and one behind the number of the first row that
 * begins in it or later; behind them the rows; in front of them, downwards, the different rules.
 */
#define UNWIND_PAGE_SHIFT 11
#define UNWIND_PAGE_BYTES (1u << UNWIND_PAGE_SHIFT)

struct unwind_rule {
	__u16 cfa_off; /* these as in unwind_row */
	__u8 kind;
	__s8 fp_off;
};

struct unwind_packed_row {
	__u16 pc;   /* in its page */
	__u16 rule; /* number */
};

union unwind_word {
	__u32 first_row;
	struct unwind_packed_row row;
	struct unwind_rule rule;
};
_Static_assert(sizeof(union unwind_word) == 4, "unwind_word is part of the map ABI");

/* What the map holds: the kernel gives each element at least 8 bytes. */
struct unwind_words {
	union unwind_word at[2];
};

enum range_kind {
	RANGE_NO_ROWS, /* executable, but without tables (yet) */
	RANGE_ROWS,
	RANGE_CODE_HEAP,
};

/* How to unwind a process; key of the map: its pid. */
struct unwind_proc {
	__u64 start_ns;    /* as in task_id: another start is another process */
	__u64 used_ns;     /* CLOCK_MONOTONIC of the last sample; BPF writes it */
	__u32 first_range; /* index in unwind_ranges */
	__u32 nr_ranges;
	__u32 jvm; /* index in jvms, UNWIND_NO_JVM if the process is none */
	__u32 pid;
	__u64 inherited_ns; /* when it was copied from the parent; 0: it is the process's own */
	__u32 publication;  /* of all processes' ranges and layouts, from 1: what is remembered of
			     * one holds for no other */
	__u32 pad;
};
_Static_assert(sizeof(struct unwind_proc) == 48, "unwind_proc is part of the map ABI");

#define UNWIND_NO_JVM 0xffffffffu

/* What walks by our tables cost, and what the kernel's by frame pointers did in the same samples.
 */
struct walk_cost {
	__u64 nr_walks, nr_frames;
	__u64 walk_ns, frame_pointers_ns;
};

/* What is inherited holds for so long: user space uses places again that it freed 100 ms ago. */
#define UNWIND_INHERITED_NS 80000000ull

/* A read of another process's memory; it lies in one page. */
#define ABI_COPY_BYTES 4096
#define ABI_COPIES     64

struct remote_copy {
	__u64 addr;
	__u32 len;
	__u32 is_done; /* out: all bytes are there */
	__u8 bytes[ABI_COPY_BYTES];
};

/* The context of the program that does the first `nr` of them. */
struct remote_args {
	__s32 pid;
	__u32 nr;
	__u64 start_ns; /* of the process; 0: any */
};
