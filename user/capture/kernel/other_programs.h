/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs of other processes that keep a recording's from running: whose they are and how long
 * they ran. Listing programs by number takes CAP_SYS_ADMIN, which a recorder gives up; descriptors
 * of processes show them to CAP_SYS_PTRACE, and the pins of bpffs to their owner.
 */
#pragma once

#include <sys/types.h>

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

struct other_program {
	u32 id;
	pid_t pid;     /* a process that holds it; 0: it is only pinned */
	char comm[64]; /* its name, or the begin of the pin's path, for people */
	char tag[20], name[64];
	bool is_timed; /* not if only a link to it is pinned */
	u64 run_ns;    /* 0 unless the kernel measures it (load_timing_open) */
};

typedef VEC(struct other_program) other_program_list;

/* Appends those of kprobes, tracepoints and perf events that a process holds or that are pinned. */
void other_programs_read(other_program_list *out);

/* "NAME of COMM-PID", or "NAME (pinned at PATH)". */
void other_program_text(const struct other_program *p, struct str *out);

/*
 * Of each program of `now`, leaves the time since `before`, also if that is empty; those that ran
 * longest come first.
 */
void other_programs_since(const other_program_list *before, other_program_list *now);
