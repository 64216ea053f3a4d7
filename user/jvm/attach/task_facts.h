/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a process that only the kernel has: bpf/calls.h. */
#pragma once

#include "base/str.h"
#include "base/types.h"

struct process_facts {
	bool are_known;
	u64 quit_handler; /* SIG_DFL, SIG_IGN or the address of its handler of SIGQUIT */
	u32 allowed;      /* a bit for each attach_call that no filter of its threads forbids */
};

/*
 * Sets the function that opens an iterator, which needs CAP_BPF and CAP_PERFMON. Returns its
 * descriptor, which the caller closes, or a negative errno.
 */
void task_facts_use(int (*open)(void));

/* Opens an iterator. Reading it needs no right. -ENOSYS without task_facts_use. */
int task_facts_open(void);

/*
 * Reads an iterator, once: the facts are as old as this call. `are_known` is false if it cannot be
 * read or lacks the process.
 */
void task_facts_read(int fd, pid_t pid, struct process_facts *out);

/*
 * Whether none of its seccomp filters ends a process that attaches. `starts_listener`: its attach
 * listener does not run yet. If not, `why` gets "reason; what to do".
 */
bool task_facts_allow(const struct process_facts *f, pid_t pid, bool starts_listener,
		      struct str *why);
