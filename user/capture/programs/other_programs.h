/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs of other processes that keep a recording's from running: whose they are, how long
 * they ran, and a program of ours that takes the samples that were skipped for them. Listing
 * programs by number takes CAP_SYS_ADMIN, which a recorder gives up; descriptors of processes show
 * them to CAP_SYS_PTRACE, and the pins of bpffs to their owner.
 */
#pragma once

#include <sys/types.h>

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

struct other_program {
	u32 id;
	pid_t pid;     /* a process that holds the program; 0: it is only pinned */
	char comm[64]; /* name of that process, or the begin of the pin's path, for people */
	char tag[20], name[64];
	bool is_timed; /* false if only a link to the program is pinned */
	u64 run_ns;    /* 0 unless the kernel measures it (load_timing_open) */
};

typedef VEC(struct other_program) other_program_list;

/*
 * Appends the programs of kprobes, tracepoints and perf events that a process holds or that are
 * pinned.
 */
void other_programs_read(other_program_list *out);

/* "NAME of COMM-PID", or "NAME (pinned at PATH)". */
void other_program_text(const struct other_program *p, struct str *out);

/*
 * Reduces the run time of each program in `now` to the time since `before`, which may be empty.
 * Sorts them: the longest run time comes first.
 */
void other_programs_since(const other_program_list *before, other_program_list *now);

/*
 * skipped.c: takes the samples for which the kernel did not run the recording's program, because
 * another BPF program was running on the CPU (bpf/events/skipped.bpf.c). It is a program of its
 * own: the kernel needs as long to verify it as all others of a recording together, and few nodes
 * need it.
 */
struct programs;
struct skipped;

/* Whether BPF programs of others are loaded that can keep a recording's from running. */
bool skipped_is_likely(const struct programs *bpf);

/*
 * Loads the program in a thread of its own, with the maps of `bpf`, which must outlive *out.
 * -ENOTSUP if the kernel has no such tracepoint, else a negative errno.
 */
int skipped_load(struct programs *bpf, struct skipped **out);

/*
 * Attaches the program once it is loaded. 0 if it runs, -EAGAIN while it is being loaded, another
 * negative errno if it cannot run.
 */
int skipped_poll(struct skipped *s);
void skipped_free(struct skipped *s);
