/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of a thread, from which a walk on the host starts. */
#pragma once

#include <sys/types.h>

#include "abi.h"
#include "base/types.h"

struct thread_regs {
	struct regs regs;
	u64 tls; /* thread pointer */
};

/* Reads those of a thread that the caller traces and that has stopped. Returns a negative errno. */
int thread_regs_read(pid_t tid, struct thread_regs *out);

/* Those of a thread that waits in the kernel. */
struct thread_regs thread_regs_of_wait(const struct blocked_thread *p);
