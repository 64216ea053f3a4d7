/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The system calls of an attach that a JVM does not need for itself. */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "machine.h"

/* X(name, number on x86-64, number on arm64, name there) */
#define CALLS_OF_AGENT(X)                                    \
	X(memfd_create, 319, 279, memfd_create)              \
	X(ftruncate, 77, 46, ftruncate)                      \
	X(fcntl, 72, 25, fcntl)                              \
	X(clock_gettime, 228, 113, clock_gettime)            \
	X(getpid, 39, 172, getpid)                           \
	X(gettid, 186, 178, gettid)                          \
	X(openat, 257, 56, openat) /* to load the library */ \
	X(futex, 202, 98, futex)

/*
 * System calls of HotSpot's attach listener when it starts. It also calls socket(2), which filters
 * often allow for some families only.
 */
#define CALLS_OF_LISTENER(X)        \
	X(bind, 49, 200, bind)      \
	X(listen, 50, 201, listen)  \
	X(chmod, 90, 53, fchmodat)  \
	X(chown, 92, 54, fchownat)  \
	X(rename, 82, 38, renameat) \
	X(accept, 43, 202, accept)  \
	X(getsockopt, 55, 209, getsockopt)

enum attach_call {
#define X(name, x86, arm64, arm64_name) CALL_##name,
	CALLS_OF_AGENT(X)
	CALLS_OF_LISTENER(X)
#undef X
		NR_CALLS
};

/* Facts about a thread that only the kernel has, as iter/task writes them. */
struct task_facts {
	__u32 pid, tid;
	__u64 quit_handler; /* SIG_DFL, SIG_IGN or the address of the handler of SIGQUIT */
	__u32 allowed;      /* a bit for each attach_call that no seccomp filter can forbid */
	__u32 pad;
};
_Static_assert(sizeof(struct task_facts) == 24, "task_facts is part of the record ABI");
