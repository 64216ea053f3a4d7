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
	const char *stop;                /* why they end */
	bool is_complete;                /* the last one is the thread's root */
};

/*
 * Walks from `regs` of a stopped thread of `pid`, which the tables know (else -ESRCH). Reading
 * its memory needs PTRACE_MODE_ATTACH rights. `out` is emptied first; free it by walked_fini.
 */
int walker_walk(const struct tables *t, pid_t pid, const struct user_regs_struct *regs,
		struct walked *out);
void walked_fini(struct walked *w);
