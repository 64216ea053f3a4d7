/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The full names of a JVM's Java threads, of which the kernel keeps 15 characters: as
 * java.lang.Thread has them now, read from outside, and as an agent told them at each thread's
 * start. A virtual thread has its carrier's name.
 */
#pragma once

#include "jvm/hotspot.h"

struct thread_names;

struct thread_names *thread_names_new(void);
void thread_names_free(struct thread_names *all);

/*
 * Reads the names of all threads that run. Those of threads that ended are kept until their tid is
 * used again or a later read. 0, -ENOENT if this build does not tell, -EFAULT, -ESRCH.
 */
int thread_names_read(struct thread_names *all, struct hotspot *h);

/* Takes a name in, modified UTF-8 of `len` bytes. */
void thread_names_tell(struct thread_names *all, pid_t tid, const char *name, size_t len);

/* Clean UTF-8, valid until the next read, tell or free; NULL if it is not known. */
const char *thread_names_find(const struct thread_names *all, pid_t tid);

/*
 * The same for a thread that had this comm, read anew if need be: for a thread that is new or whose
 * comm has become another, and every two seconds, since another thread may have named it; at most
 * 2 % of the time go into that. NULL if the name may be of another moment than the comm.
 */
const char *thread_names_ask(struct thread_names *all, struct hotspot *h, pid_t tid,
			     const char *comm);

/*
 * The name that an agent told at the thread's start, if a thread of this name has this comm. Of a
 * name longer than the kernel's HotSpot keeps the first 15 bytes, or "%.7s..%.6s" (JDK 26,
 * os_linux.cpp, os::set_native_thread_name). NULL if it was not told or may be of another thread.
 */
const char *thread_names_told(const struct thread_names *all, pid_t tid, const char *comm);

/* Visits all that are known, in no particular order. */
void thread_names_each(const struct thread_names *all,
		       void (*visit)(pid_t tid, const char *name, void *ctx), void *ctx);
