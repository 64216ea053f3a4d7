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

/* The first word of every ring-buffer record. */
enum record_kind {
	RECORD_SAMPLE = 1,
	RECORD_FORK,
	RECORD_EXEC,
	RECORD_EXIT,
};

/* A process is (pid, start_ns): a PID that is used again has another start. */
struct task_id {
	__u32 pid, tid;
	__u64 start_ns; /* CLOCK_BOOTTIME, of the thread group's leader */
};
_Static_assert(sizeof(struct task_id) == 16, "task_id is part of the record ABI");

/* A user frame: where it is and how it was found. */
struct user_frame {
	__u64 addr; /* pc; Method * for USER_FRAME_INTERPRETED */
	__u64 info; /* USER_FRAME_KIND_SHIFT: kind; below: see the kind */
};

#define USER_FRAME_KIND_SHIFT 56

/* The record's head; its words follow: first the kernel pcs, then the user frames. */
struct sample {
	__u32 kind;   /* RECORD_SAMPLE */
	__u16 source; /* enum source */
	__u16 stop;   /* enum stat: why the user stack ended, STAT_ROOT if complete */
	struct task_id task;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 weight;  /* what the sample counts for, in the source's unit */
	char comm[ABI_COMM_LEN];
	__u32 cpu;
	__u16 nr_kernel; /* u64 pcs, leaf first */
	__u16 nr_user;   /* struct user_frame, leaf first */
};
_Static_assert(sizeof(struct sample) == 64, "sample is part of the record ABI");

/* A process began as another's child, runs another program, or ended. */
struct process_record {
	__u32 kind;       /* RECORD_FORK, RECORD_EXEC or RECORD_EXIT */
	__u32 parent_pid; /* RECORD_FORK only */
	struct task_id task;
	__u64 time_ns;
	char comm[ABI_COMM_LEN];
};
_Static_assert(sizeof(struct process_record) == 48, "process_record is part of the record ABI");

/* Which event a sample came from. */
enum source {
	SOURCE_CPU,
	NR_SOURCES,
};

/* How the caller's frame is found from a pc; 8 bytes, sorted by pc. */
struct unwind_row {
	__u32 pc;      /* from the start of the module's image (its lowest p_vaddr is 0 or added) */
	__u16 cfa_off; /* in words of 8 bytes */
	__u8 kind;     /* enum row_kind */
	__s8 fp_off;   /* saved frame pointer relative to the CFA, in words; 0: fp unchanged */
};
_Static_assert(sizeof(struct unwind_row) == 8, "unwind_row is part of the map ABI");

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
};
