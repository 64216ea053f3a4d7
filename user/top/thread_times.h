/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of a JVM's own threads: those that collect garbage, and those that compile. */
#pragma once

#include "base/dict.h"
#include "base/types.h"
#include "base/vec.h"
#include "jvm/process/vm_thread.h"

struct timed_thread;

struct thread_times {
	VEC(struct timed_thread) threads;
	struct dict by_tid; /* tid -> index + 1 */
	u64 round;
	bool has_begun, knows_names;
	u64 ns[NR_VM_WORKS]; /* since the first reading; never smaller than before */
};

/*
 * Reads the threads of a process. `is_java` tells for a tid in the process's pid namespace whether
 * it can run Java code; such a thread collects no garbage, whatever its name.
 */
void thread_times_read(struct thread_times *t, pid_t pid, bool (*is_java)(pid_t inner, void *ctx),
		       void *ctx);
void thread_times_fini(struct thread_times *t);
