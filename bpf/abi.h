/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between the BPF programs and user space: ring-buffer records, map keys and values.
 */
#pragma once

#ifndef __VMLINUX_H__ /* BPF sources take these types from vmlinux.h */
#include <linux/types.h>
#endif

#include "hotspot_abi.h"
#include "machine.h"

#define ABI_COMM_LEN      16
#define ABI_KERNEL_FRAMES 127
#define ABI_USER_FRAMES   1024
#define ABI_SAMPLE_WORDS  4096 /* a power of two >= ABI_KERNEL_FRAMES + 2 * ABI_USER_FRAMES */
#define ABI_EVENTS        16   /* per recording; a power of two */

/*
 * The kinds of process selectors. A process is sampled if every kind in use has a selector that
 * matches it. The same bits, shifted left by SELECT_EXCLUDE_SHIFT, exclude it.
 */
enum select {
	SELECT_PID = 1, /* inherited by children */
	SELECT_COMM = 2,
	SELECT_USER = 4, /* the effective user */
	SELECT_JVM = 8,
	SELECT_CGROUP = 16,
	SELECT_CONTAINER = 32, /* SELECT_CONTAINER and SELECT_POD match by control group */
	SELECT_POD = 64,
	SELECT_WITHIN = 128, /* the control group to which a daemon is limited */
	SELECT_SERVICE = 256,
};

#define SELECT_EXCLUDE_SHIFT 16

struct comm_key {
	char comm[ABI_COMM_LEN]; /* name of the thread group's leader; zero-filled */
};

/* A control group. Version 1 has several hierarchies; ids are unique only within one. */
struct cgroup_key {
	__u64 id;     /* inode of the group's directory */
	__u32 subsys; /* kernel's number of a controller in the hierarchy, or CGROUP_UNIFIED */
	__u32 pad;
};

#define CGROUP_UNIFIED     0xffffffffu /* cgroup version 2 */
#define TARGET_CGROUPS_MAX 16384       /* groups that match selectors */
#define CGROUP_DEPTH       32          /* levels examined above a process */

/* The first word of every ring-buffer record. */
enum record_kind {
	RECORD_SAMPLE = 1,
	RECORD_FORK,
	RECORD_EXEC,
	RECORD_EXIT,
	RECORD_HEADLESS, /* a process continues without its main thread */
	RECORD_UNWALKED, /* a sample with a struct unwalked in place of user frames */
	RECORD_FREED,
	RECORD_PENDING,       /* a sample of a wait that has not ended when recording ends */
	RECORD_SELECTED_FORK, /* a struct selection_record */
	RECORD_SELECTED_EXEC,
	RECORD_VIRTUAL, /* a sample of a virtual thread without a carrier, made by user space */
};

/* A process is identified by (pid, start_ns): a reused PID has another start time. */
struct task_id {
	__u32 pid, tid;
	__u64 start_ns; /* CLOCK_BOOTTIME, of the thread group's leader */
};
_Static_assert(sizeof(struct task_id) == 16, "task_id is part of the record ABI");

/*
 * A user frame: its address, its kind, and the data that a later naming step needs to check that
 * the memory still holds the sampled code. The bits of `info`, from the top: 8 bits enum
 * user_frame_kind, 4 bits flags, then
 * - for frames of the code heap: 28 bits compile id (0 if the blob is not an nmethod) and 24 bits
 *   addr - CodeBlob *, all ones if it does not fit;
 * - for interpreted frames: the bytecode pointer, which must lie in the ConstMethod's code; 0 if
 *   unknown;
 * - for USER_FRAME_CLASS: the mean sampling interval in bytes of an allocation, or the duration
 *   in ns from which every wait is recorded;
 * - for USER_FRAME_KLASS of an allocation: enum klass_place.
 */
struct user_frame {
	__u64 addr; /* pc; Method * for USER_FRAME_INTERPRETED */
	__u64 info;
};

#define USER_FRAME_KIND_SHIFT  56
#define USER_FRAME_LEAF        (1ULL << 55) /* addr is the next instruction, not a return address */
#define USER_FRAME_APPROXIMATE (1ULL << 54) /* found by search, or a caller may be missing */
#define USER_FRAME_BCP_MASK    ((1ULL << 52) - 1)
#define USER_FRAME_DETAIL_MASK ((1ULL << 52) - 1)
#define USER_FRAME_BLOB_MASK   ((1ULL << 24) - 1)
#define USER_FRAME_ID_SHIFT    24
#define USER_FRAME_ID_MASK     ((1ULL << 28) - 1)

enum user_frame_kind {
	USER_FRAME_NATIVE,      /* code of a file, or of unknown origin */
	USER_FRAME_COMPILED,    /* an nmethod of C1 or C2 */
	USER_FRAME_WRAPPER,     /* the nmethod wrapper of a native method */
	USER_FRAME_STUB,        /* any other blob of the code heap */
	USER_FRAME_VTABLE,      /* a vtable or itable stub */
	USER_FRAME_INTERPRETED, /* addr is the Method * */
	USER_FRAME_INTERPRETER, /* the interpreter, method unknown; addr is the pc */
	USER_FRAME_FROZEN,      /* marker: callers of a virtual thread are missing here; addr 0 */
	USER_FRAME_SKIPPED,     /* marker: native callers are missing here; addr 0 */
	/* Not frames: the class of an allocation or wait. */
	USER_FRAME_CLASS, /* addr is the agent's number of the class */
	USER_FRAME_KLASS, /* addr is the Klass * */
};

/* Where the object of a Klass was allocated. */
enum klass_place {
	KLASS_IN_TLAB = 1, /* in its thread's allocation buffer */
	KLASS_OUTSIDE_TLAB,
};

/*
 * The header of a sample record. Its words follow: first the kernel pcs, then the user frames, then
 * the context of the thread.
 */
struct sample {
	__u32 kind;  /* RECORD_SAMPLE or RECORD_PENDING */
	__u16 event; /* number of the event in the recording, < ABI_EVENTS */
	__u16 stop;  /* enum stat_id: why the user stack ended; STAT_ROOT if complete */
	struct task_id task;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 weight;  /* in the event's unit; for waits the duration; user space may weigh it again
			* (event_kind.h) */
	char comm[ABI_COMM_LEN];
	__u16 cpu;             /* RECORD_VIRTUAL: enum virtual_state */
	__u8 state;            /* enum thread_state */
	__u8 nr_context;       /* u64 words of a struct thread_context, SAMPLE_HAS_VALUES */
	__u16 nr_kernel;       /* u64 pcs, leaf first */
	__u16 nr_user;         /* struct user_frame, leaf first */
	__u64 unloads;         /* classes unloaded by the JVM at that time, plus 1; 0 if unknown */
	union {                /* additional data, by event */
		__u64 unit_ns; /* waits: sampling unit; chance of a shorter wait: duration / unit;
				* 0: no wait; RECORD_VIRTUAL: duration */
		__u64 unit_bytes;       /* allocations: likewise, of those that the JVM chose; 0:
					 * all are samples */
		__u64 allocator_return; /* mmap: return address of the last call that the program
					 * itself made to an allocator; 0: none */
	};
	union {
		__u64 mapped; /* mmap: the requested fixed address, or MAPPED_STACK; 0: neither */
		__u64 is_from_timer; /* of skipped.bpf.c: the kernel frames begin with those of the
				      * interrupt of the timer */
	};
};
_Static_assert(sizeof(struct sample) == 88, "sample is part of the record ABI");

/*
 * What a thread publishes of its request, as it lies in the memory of its process: the thread
 * context record of OpenTelemetry's OTEP 4947.
 */
struct thread_context {
	__u8 trace[16], span[8]; /* zeros: none */
	__u8 is_valid;           /* 1; everything else is no context */
	__u8 flags;
	/*
	 * If they are missing in a sample, they take more than CONTEXT_ATTRIBUTES or could not be
	 * read.
	 */
	__u16 attributes_bytes;
	__u8 attributes[]; /* a number of a key, a length, and so many bytes, again and again */
};
_Static_assert(sizeof(struct thread_context) == 28, "thread_context is a format of others");

#define CONTEXT_BYTES      640 /* the most that OTEP 4947 recommends */
#define CONTEXT_ATTRIBUTES (CONTEXT_BYTES - sizeof(struct thread_context))

/* How to find the variable that points to a thread's context. */
enum context_place_kind {
	CONTEXT_STATIC, /* at an offset from the thread pointer */
	CONTEXT_GLIBC,  /* in the module's block, by glibc's table of blocks */
	CONTEXT_MUSL,   /* likewise, by musl's */
};

/* Where the threads of a process have that variable. Map key: pid. */
struct context_place {
	__u64 start_ns; /* as in task_id */
	__s64 offset;   /* from the thread pointer or in the block */
	__u32 kind;     /* enum context_place_kind */
	__u32 module;   /* its number in the table, from 1; 0 if CONTEXT_STATIC */
};

#define CONTEXT_PLACES 4096 /* processes */

/*
 * Values of ThreadLocals, which a JVM's thread has set (record --label). The bit of
 * sample.nr_context says that JAVA_LABELS of them follow the context.
 */
#define JAVA_LABELS       4
#define JAVA_VALUE_BYTES  60
#define SAMPLE_HAS_VALUES 0x80
#define SAMPLE_VALUES     (JAVA_LABELS * sizeof(struct java_value) / sizeof(__u64)) /* words */

enum java_value_kind {
	JAVA_NONE,        /* the thread has not set it, or to null */
	JAVA_LATIN1,      /* a String of bytes .. */
	JAVA_UTF16,       /* .. and of pairs of bytes */
	JAVA_NUMBER,      /* an s64 */
	JAVA_UNREADABLE,  /* memory that cannot be read, or a chain of objects that is too long */
	JAVA_OTHER_CLASS, /* no shape has this class; `text` begins with it, a u64 */
};

struct java_value {
	__u8 kind; /* enum java_value_kind */
	__u8 step; /* at which reading ended, as java_shape.step */
	/* of the whole text, of which `text` has at most JAVA_VALUE_BYTES; of the number */
	__u16 bytes;
	__u8 text[JAVA_VALUE_BYTES];
};
_Static_assert(sizeof(struct java_value) == 64, "java_value is part of the record ABI");

enum java_shape_kind {
	SHAPE_FIELD,   /* goes on at the object in a field */
	SHAPE_NUMBER,  /* ends at a number */
	SHAPE_TEXT,    /* ends at a String */
	SHAPE_MAP,     /* a java.util.HashMap or ConcurrentHashMap: goes on at the key's value */
	SHAPE_SORTED,  /* two arrays, of sorted keys and of their values */
	SHAPE_NOTHING, /* the label has no value */
	SHAPE_PAIRS, /* an array of keys and values in turn, behind one element if its length is odd
		      */
};

/* How BPF goes on from an object of one class towards the value of a label. Offsets in bytes. */
struct java_shape {
	__u64 class;  /* what the object's header has for its class */
	__u8 kind;    /* enum java_shape_kind */
	__u8 step;    /* the position in the label's path at which this shape counts .. */
	__u8 next;    /* .. and that of the object that follows; may be the same */
	__u8 bytes;   /* of the number */
	__u16 field;  /* of the reference or number; HashMap.table; the array of keys */
	__u16 other;  /* SHAPE_SORTED: the array of values */
	__u8 key;     /* index in java_label.keys .. */
	__u8 nr_keys; /* .. of the first one of so many. The first one that is found counts. */
	/* in a node of a map */
	__u8 node_hash, node_key, node_value, node_next;
	__u8 pad[2];
};
_Static_assert(sizeof(struct java_shape) == 24, "java_shape has no holes");

#define JAVA_KEY_BYTES 72

/* A key of a map: a String of Latin-1. */
struct java_key {
	__u32 hash;                     /* as HashMap spreads String.hashCode */
	__u32 bytes;                    /* 1 to JAVA_KEY_BYTES */
	__u64 text[JAVA_KEY_BYTES / 8]; /* with zeros behind it */
};

#define JAVA_SHAPES 16
#define JAVA_KEYS   2
#define JAVA_STEPS  10 /* objects from the value of a ThreadLocal to the label's */

enum java_source {
	JAVA_NO_SOURCE, /* the label is not known (yet) */
	JAVA_THREAD_LOCAL,
	JAVA_INHERITABLE, /* an InheritableThreadLocal */
	JAVA_SCOPED,      /* a ScopedValue */
};

/* From the value of a ThreadLocal to a text or number. */
struct java_label {
	__u32 hash;     /* ThreadLocal.threadLocalHashCode, ScopedValue.hash */
	__u8 source;    /* enum java_source */
	__u8 nr_shapes; /* used ones */
	__u8 hint;      /* SHAPE_PAIRS: the pair that fitted last; BPF sets it */
	__u8 pad;
	struct java_shape shapes[JAVA_SHAPES];
	struct java_key keys[JAVA_KEYS];
};

/* How to read the ThreadLocals of a JVM's threads. Offsets in bytes. Map key: pid. */
struct java_place {
	__u64 start_ns; /* as in task_id */
	__u64 narrow_base;
	__u64 string_class, entry_class; /* as java_shape.class; of ThreadLocalMap.Entry */
	__u64 snapshot_class;            /* ScopedValue.Snapshot; 0 if not loaded */
	__u16 tls_module, tls_offset;    /* as in struct hotspot_layout */
	/* In JavaThread: pointers to references, HOTSPOT_NO_FIELD if missing. */
	__u16 virtual_thread, thread;
	__u16 thread_is_reference;              /* `thread` is itself a reference (before JDK 16) */
	__u16 locals, inheritable;              /* Thread.threadLocals, .inheritableThreadLocals */
	__u16 bindings;                         /* Thread.scopedValueBindings */
	__u16 table;                            /* ThreadLocalMap.table */
	__u16 referent, value;                  /* Reference.referent, ThreadLocalMap.Entry.value */
	__u16 hash;                             /* ThreadLocal.threadLocalHashCode */
	__u16 snapshot_bindings, snapshot_prev; /* ScopedValue.Snapshot */
	__u16 carrier_key, carrier_value, carrier_prev; /* ScopedValue.Carrier */
	__u16 scoped_hash;                              /* ScopedValue.hash */
	__u16 array_length, array_references, array_bytes;
	__u16 text, coder; /* String.value, String.coder; coder 0: always UTF-16 (JDK 8) */
	__u16 first_field; /* of a class with nothing but one reference */
	__u16 class_at;
	__u8 class_bytes, class_shift;
	__u8 narrow_shift, reference_bytes;
	__u8 is_colored; /* references are those of generational ZGC */
	__u8 pad[3];
	struct java_label labels[JAVA_LABELS];
};

#define JAVA_PLACES 1024 /* JVMs */

#define MAPPED_STACK 1 /* a thread's stack; no mapping has this address */

/*
 * A copy of the user stack of a process that has no tables yet. The copy takes the place of the
 * frames; nr_user is its size in frames. The copy is needed because the stack may have changed by
 * the time that user space has made tables.
 */
#define UNWALKED_STACK_BYTES 16384

struct unwalked {
	__u64 regs[REGS_WORDS]; /* struct regs */
	__u64 tls;
	__u64 start_stack;      /* sp at which the process's first thread began */
	struct user_frame leaf; /* the class of the sample, if it has one; info 0: none */
	__u64 stack_bytes;
	__u64 stack[]; /* starts at sp */
};

/* A thread that is still waiting when recording ends. */
struct blocked_thread {
	struct sample sample;     /* weight: start of the wait in CLOCK_MONOTONIC; no user frames */
	struct waiting_regs regs; /* at entry into the kernel */
	__u64 tls;                /* thread pointer */
	__u64 start_stack;        /* as in struct unwalked */
	/* mask of enum wait_event: the events that record this wait */
	__u64 events;
	__u64 kernel[ABI_KERNEL_FRAMES];
};

/* A process started as a child, executed another program, or ended (also its main thread alone). */
struct process_record {
	__u32 kind;       /* RECORD_FORK to RECORD_HEADLESS */
	__u32 parent_pid; /* RECORD_FORK only */
	struct task_id task;
	__u64 time_ns;
	char comm[ABI_COMM_LEN];
	__u32 uid;    /* RECORD_FORK, RECORD_EXEC: its real user */
	__u32 signal; /* RECORD_EXIT: signal that ended the process; 0: none */
};
_Static_assert(sizeof(struct process_record) == 56, "process_record is part of the record ABI");

/*
 * Whether a new process, or the new program of a process, is a target of the recording. This record
 * follows the process_record of the same fork or exec.
 */
struct selection_record {
	__u32 kind; /* RECORD_SELECTED_FORK, sent for targets only, or RECORD_SELECTED_EXEC */
	__u32 is_wanted;
	struct task_id task;
	__u64 time_ns;
};
_Static_assert(sizeof(struct selection_record) == 32, "selection_record is part of the record ABI");

/* Sampled memory was freed. */
struct freed_record {
	__u32 kind; /* RECORD_FREED */
	__u32 tid;  /* thread of the sample */
	__u64 sample_ns;
	__u64 time_ns;
};
_Static_assert(sizeof(struct freed_record) == 24, "freed_record is part of the record ABI");

/* Sampled memory that is not freed yet, and its sample. */
struct memory_key {
	__u64 addr; /* or an object's number, see bpf/events/live_allocs.h */
	__u64 pid;
};

#define MEMORY_LIVE_MAX (1 << 20) /* blocks or objects followed at once */

struct memory_live {
	__u64 sample_ns;
	__u64 tid;
};

/* The probed functions of java_event; the value is the probe's cookie. */
enum java_call {
	JAVA_ALLOC, /* hooks of the agent */
	JAVA_LOCK,
	JAVA_TLAB, /* functions of libjvm */
	JAVA_OUTSIDE_TLAB,
	JAVA_ENTERED, /* hooks of the agent: calls of a method, at their begin and their end */
	JAVA_LASTED,
};

/* The allocator functions and their parameters. */
enum memory_call_kind {
	MEMORY_MALLOC,         /* (size) */
	MEMORY_NEW,            /* (size, ..); may end in a jump to another one or an exception */
	MEMORY_NEW_NOTHROW,    /* the same, without exceptions */
	MEMORY_CALLOC,         /* (nr, size) */
	MEMORY_REALLOC,        /* (old, size) */
	MEMORY_ALIGNED,        /* (alignment, size) */
	MEMORY_POSIX_MEMALIGN, /* (out, alignment, size) */
	MEMORY_MMAP,           /* (address, size, protection, flags, ..) */
	MEMORY_FREE,           /* (address) */
	NR_MEMORY_CALLS,
};

/* The cookie of an allocator's probe. */
#define MEMORY_COOKIE(file, function, call) ((__u64)(file) << 16 | (function) << 8 | (call))
#define MEMORY_COOKIE_FILE(cookie)          ((__u32)((cookie) >> 16))
#define MEMORY_COOKIE_FUNCTION(cookie)      ((cookie) >> 8 & (MEMORY_FUNCTIONS - 1))
#define MEMORY_COOKIE_CALL(cookie)          ((cookie)&0x7f)
#define MEMORY_COOKIE_PROGRAM               0x80 /* the file is a program, see memory_file */

#define MEMORY_FILES     256 /* files with an allocator, per recording */
#define MEMORY_FUNCTIONS 64  /* per file; a power of two */

/* A file with an allocator. All values are offsets in the file, ranges are [start, end). */
struct memory_file {
	__u64 code_start, code_end;
	__u64 is_program;                 /* its other code may also allocate */
	__u64 threads_start, threads_end; /* pthread_create, which maps stacks; 0 if absent */
	__u64 nr;
	struct {
		__u64 start, end;
	} functions[MEMORY_FUNCTIONS];
};

/* The state of the sampled thread, for events that report one. */
enum thread_state {
	STATE_NONE,            /* the event has no state */
	STATE_RUNNING,         /* on a CPU */
	STATE_RUNNABLE,        /* preempted, able to run */
	STATE_SLEEPING,        /* waiting, a signal would wake it: S */
	STATE_DISK,            /* waiting, uninterruptible, for a block device or a page: D */
	STATE_UNINTERRUPTIBLE, /* the other waits of D */
	STATE_STOPPED,         /* by a signal or a debugger: T, t */
	STATE_IDLE,            /* waited during the whole recording; set by user space */
	STATE_PINNED,          /* a virtual thread that blocks its carrier; set by user space */
	NR_STATES,
};

/*
 * The scratch records in which samples are built. Each CPU has one of each, because one program may
 * interrupt another. Ordered by likelihood of use: unused records at the end are not allocated.
 */
enum slot {
	SLOT_PERF,   /* perf events; the kernel runs one at a time per CPU */
	SLOT_SWITCH, /* a thread that returned to the CPU */
	SLOT_TRACE,  /* tracepoints; the kernel runs one at a time per CPU */
	SLOT_UPROBE, /* uprobes can be preempted: several records */
	NR_SLOTS = SLOT_UPROBE + 4,
};

/* Per-event counts of lost or adjusted samples. Map key: event * NR_EVENT_COUNTS + this. */
enum event_count {
	EVENT_RING_FULL,   /* lost: the ring was full */
	EVENT_RING_LOCKED, /* lost: another CPU held the ring's lock during an NMI */
	EVENT_THROTTLED,   /* lost: samples took too much time */
	EVENT_BUSY,        /* lost: no scratch record was free */
	EVENT_UNTIMED,     /* lost waits: no memory to store their start */
	EVENT_SKIPPED,     /* lost: the kernel ran another BPF program; user space counts it */
	EVENT_LATE,        /* lost: the CPU's timer came late; user space counts it */
	EVENT_DECLINED,    /* lost hits: the kernel ran another BPF program; user space counts it */
	EVENT_DUE,         /* samples that were due, if known; user space counts it */
	EVENT_SPARSE,      /* recorded with a larger weight, because others were not sampled */
	NR_EVENT_COUNTS,
};

/* Runs of the event's BPF program on this CPU, including runs that took no sample. */
struct event_runs {
	__u64 nr;
	__u64 counted;        /* sum of sample periods: how far the perf event's counter advanced */
	__u64 nr_busy;        /* runs while the CPU was not idle */
	__u64 nr_wanted;      /* runs that sampled a task that is recorded */
	__u64 nr_late;        /* due samples that a clock's timer passed over: it expired late */
	__u64 nr_late_wanted; /* late samples charged to a task that is recorded */
	/* due samples for which a clock's timer expired, but the kernel did not run the program */
	__u64 nr_skipped;
	/*
	 * of the skipped: charged to a task that is sampled, the task of the CPU's previous sample
	 */
	__u64 nr_skipped_wanted;
	__u64 next_ns;   /* when the clock's timer expires next; 0: unknown */
	__u64 clock_id;  /* of the perf event with that timer; 0: unknown */
	__u64 is_wanted; /* the last run sampled a task that is recorded */
	__u64 nr_known;  /* `nr` when skipped.bpf.c looked last */
};

/* How to find the caller's frame, from `pc` on. Rows are sorted by pc. */
struct unwind_row {
	__u32 pc;      /* from the image's start, the lowest p_vaddr of PT_LOAD rounded down to 4
			* KB */
	__u16 cfa_off; /* in words of 8 bytes; signed for ROW_FP_DEREF and ROW_SP_DEREF */
	__u8 kind;     /* enum row_kind */
	__s8 fp_off;   /* saved frame pointer relative to the CFA, in words; 0: fp unchanged */
};
_Static_assert(sizeof(struct unwind_row) == 8, "unwind_row is part of the cache on disk");

/* Persistent in the cache of tables on disk: append only. */
enum row_kind {
	ROW_NONE = 0,         /* no rule: a gap between functions; cfa_off: ROW_NONE_MUSL or 0 */
	ROW_SP = 1,           /* CFA = sp + cfa_off */
	ROW_FP = 2,           /* CFA = fp + cfa_off */
	ROW_PLT = 3,          /* CFA = sp + 8, + 8 more if (pc & 15) >= 11 */
	ROW_END = 4,          /* outermost frame: the stack is complete */
	ROW_SIGNAL = 5,       /* the interrupted registers are on the stack */
	ROW_FP_DEREF = 6,     /* CFA = *(fp + cfa_off), saved fp at *fp: realigned stacks */
	ROW_UNSUPPORTED = 7,  /* call frame information that rows cannot express */
	ROW_SP_DEREF = 8,     /* CFA = *(sp + cfa_off) + 8: libcrypto's vector code */
	ROW_REGISTER = 9,     /* CFA = register + words, both in cfa_off; leaves only */
	ROW_SWITCH = 10,      /* CFA = fp + cfa_off, on another stack */
	ROW_ENTRY = 11,       /* entry point without call frame information: the outermost frame at
			       * the sp with which the process began */
	ROW_IN_REGISTER = 12, /* CFA = sp + words, return address in a register, both in cfa_off;
			       * leaves only */
	ROW_LINK = 13,        /* arm64: CFA = sp + cfa_off, only the return address is saved */
};

/*
 * On arm64 fp and the return address are saved side by side: fp_off is the place of the pair, or
 * with ROW_LINK that of the return address. It is relative to the CFA if it is negative. Otherwise
 * the place is fp_off - 1 words above sp or fp, whichever the CFA is computed from. With 0 nothing
 * is saved: the return address is in x30, and the row is for leaves only.
 */

#define ROW_NONE_MUSL 1 /* the file contains musl, which has no call frame information */

/* cfa_off of ROW_REGISTER and ROW_IN_REGISTER. The register number is DWARF's. */
#define ROW_REGISTER_SHIFT     12
#define ROW_REGISTER_WORDS_MAX ((1u << ROW_REGISTER_SHIFT) - 1)

/* An executable part of a process's memory. The ranges of a process are sorted. */
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
 * The layout of a module's part of unwind_rows: rules, page index, rows. This layout keeps the
 * number of cache lines per search low: when a process is sampled, its tables are rarely in the
 * CPU's cache. The index has a word per page of the image and one more: the number of the first row
 * at or after the page's start. The rows follow it. The distinct rules precede it, in descending
 * order.
 */
#define UNWIND_PAGE_SHIFT 11
#define UNWIND_PAGE_BYTES (1u << UNWIND_PAGE_SHIFT)

struct unwind_rule {
	__u16 cfa_off; /* the fields have the meaning of unwind_row */
	__u8 kind;
	__s8 fp_off;
};

struct unwind_packed_row {
	__u16 pc;   /* within its page */
	__u16 rule; /* number of the rule */
};

union unwind_word {
	__u32 first_row;
	struct unwind_packed_row row;
	struct unwind_rule rule;
};
_Static_assert(sizeof(union unwind_word) == 4, "unwind_word is part of the map ABI");

/* The map's value type: the kernel gives each element at least 8 bytes. */
struct unwind_words {
	union unwind_word at[2];
};

enum range_kind {
	RANGE_NO_ROWS, /* executable, without tables (yet) */
	RANGE_ROWS,
	RANGE_CODE_HEAP,
};

/* How to unwind a process. Map key: its pid. */
struct unwind_proc {
	__u64 start_ns;    /* as in task_id; another start time is another process */
	__u64 used_ns;     /* CLOCK_MONOTONIC of the last sample, written by BPF */
	__u32 first_range; /* index in unwind_ranges */
	__u32 nr_ranges;
	__u32 jvm; /* index in jvms, UNWIND_NO_JVM if the process is not a JVM */
	__u32 pid;
	__u64 inherited_ns; /* when it was copied from the parent; 0 if it is the process's own */
	__u32 publication;  /* number of this version of ranges and layout, unique among all
			     * processes, from 1; cached results are valid for one publication
			     * only */
	__u32 generates;    /* whether the process generates code, for which there are no rows */
};
_Static_assert(sizeof(struct unwind_proc) == 48, "unwind_proc is part of the map ABI");

#define UNWIND_NO_JVM 0xffffffffu

/*
 * The cost of walks by our tables and of the kernel's walks by frame pointers, in the same samples.
 */
struct walk_cost {
	__u64 nr_walks, nr_frames;
	__u64 walk_ns, frame_pointers_ns;
};

/* How long an inherited entry is valid: user space reuses freed places after 100 ms. */
#define UNWIND_INHERITED_NS 80000000ull

/* A read of another process's memory, within one page. */
#define ABI_COPY_BYTES 4096
#define ABI_COPIES     64

struct remote_copy {
	__u64 addr;
	__u32 len;
	__u32 is_done; /* out: all bytes were read */
	__u8 bytes[ABI_COPY_BYTES];
};

/* The context of the program that performs the first `nr` reads. */
struct remote_args {
	__s32 pid;
	__u32 nr;
	__u64 start_ns; /* of the process; 0 matches any */
};
