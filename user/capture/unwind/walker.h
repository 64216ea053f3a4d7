/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the source of BPF's unwinder on the host, on a stopped thread or a kept stack. Used by
 * `sysflame debug unwind`, and to compare stacks with the truth.
 */
#pragma once

#include "abi.h"
#include "base/auto.h"
#include "base/vec.h"
#include "capture/unwind/tables.h"
#include "capture/unwind/thread_regs.h"

struct walked_frame {
	struct user_frame frame;
	u64 pc, sp;       /* before the step */
	const char *rule; /* how the caller was found */
};

struct walked {
	VEC(struct walked_frame) frames; /* leaf first */
	u32 reason;                      /* why the walk ended: enum stat_id */
	const char *stop;                /* the reason as a sentence */
	bool is_complete;                /* the last frame is the thread's root */
};

/*
 * Walks from `regs` of a stopped thread of `pid`; -ESRCH if the tables do not know the process. Its
 * first thread began with sp at `start_stack`, 0 if that is unknown. Reads its memory by mem_open.
 * Empties `out` first; free it with walker_fini.
 */
int walker_walk(const struct tables *t, pid_t pid, const struct thread_regs *regs, u64 start_stack,
		struct walked *out);

/*
 * Walks a kept stack. The reason is STAT_STACK_SHORT if the stack was larger. Memory that is not
 * stack is read from the process if it is still running. Follows frame pointers if the tables do
 * not know the process.
 */
void walker_walk_kept(const struct tables *t, pid_t pid, const struct unwalked *kept,
		      struct walked *out);

/*
 * A sample with these frames and otherwise the data of `head`, for the caller to free. `context`
 * has sample_nr_request(head) words; it may be NULL if there are none.
 */
struct sample *walked_sample(const struct walked *w, const struct sample *head, const void *kernel,
			     const void *context);

/* Inserts a frame that is not code as the leaf. */
void walked_add_leaf(struct walked *w, const struct user_frame *leaf);
void walked_fini(struct walked *w);
