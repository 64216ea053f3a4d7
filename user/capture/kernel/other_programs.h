/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs of other processes that keep a recording's from running: whose they are and how long
 * they ran. Listing programs by number takes CAP_SYS_ADMIN, which a recorder gives up; descriptors
 * of processes show them to CAP_SYS_PTRACE.
 */
#pragma once

#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

struct other_program {
	u32 id;
	pid_t pid;     /* a process that holds it */
	char comm[64]; /* its name, for people */
	char tag[20], name[64];
	u64 run_ns; /* 0 unless the kernel measures it (load_timing_open) */
};

typedef VEC(struct other_program) other_program_list;

/* Appends those of kprobes, tracepoints and perf events, as far as a process holds them. */
void other_programs_read(other_program_list *out);

/*
 * Of each program of `now`, leaves the time since `before`, also if that is empty; those that ran
 * longest come first.
 */
void other_programs_since(const other_program_list *before, other_program_list *now);
