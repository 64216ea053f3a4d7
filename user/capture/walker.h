/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder of bpf/, the very same source, run on the host against a thread that somebody has
 * stopped: for `sysflame debug unwind`, and to compare stacks with the truth.
 */
#pragma once

#include <sys/user.h>

#include "abi.h"
#include "base/auto.h"
#include "base/vec.h"
#include "capture/tables.h"

struct walked_frame {
	struct user_frame frame;
	u64 pc, sp;       /* on which the step stood */
	const char *rule; /* how its caller was found */
};

struct walked {
	VEC(struct walked_frame) frames; /* leaf first */
	u32 reason;                      /* why they end: enum stat */
	const char *stop;                /* the same as a sentence */
	bool is_complete;                /* the last one is the thread's root */
};

/*
 * Walks from `regs` of a stopped thread of `pid`, which the tables know (else -ESRCH). Its memory
 * is read as mem_open can. `out` is emptied first; free it by walked_fini.
 */
int walker_walk(const struct tables *t, pid_t pid, const struct user_regs_struct *regs,
		struct walked *out);

/*
 * Walks a stack that was kept; other memory is read of the process, if it still runs. Where the
 * tables do not know the process, by frame pointers.
 */
void walker_walk_kept(const struct tables *t, pid_t pid, const struct unwalked *kept,
		      struct walked *out);

/* A sample with these frames and what else `head` tells, for the caller to free. */
struct sample *walked_sample(const struct walked *w, const struct sample *head, const void *kernel);

/* Puts what is no code before the frames. */
void walked_add_leaf(struct walked *w, const struct user_frame *leaf);
void walked_fini(struct walked *w);
