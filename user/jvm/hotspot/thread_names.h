/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The full names of a JVM's Java threads; the kernel keeps only 15 characters. There are two
 * sources: java.lang.Thread's current name, read from outside, and the name that an agent reported
 * at the thread's start. A virtual thread has its carrier's name.
 */
#pragma once

#include "jvm/hotspot/hotspot.h"

#define THREAD_NAMES_BYTES (64u << 20) /* more than KEPT_MAX names take */

struct thread_names;

struct thread_names *thread_names_new(void);
void thread_names_free(struct thread_names *all);

/*
 * Reads the names of all live threads. Names of ended threads are kept until their tid is reused or
 * a later read. Returns 0, -ENOENT if this build does not export them, -EFAULT or -ESRCH.
 */
int thread_names_read(struct thread_names *all, struct hotspot *h);

/* Stores a name that an agent reported, modified UTF-8 of `len` bytes. */
void thread_names_report(struct thread_names *all, pid_t tid, const char *name, size_t len);

/* The memory in use. */
u64 thread_names_bytes(const struct thread_names *all);

/* Limits the memory of reported names. All of them are forgotten when they take more. */
void thread_names_limit(struct thread_names *all, u64 max_bytes);

size_t thread_names_left_out(const struct thread_names *all);

/* Clean UTF-8, valid until the next read, report or free; NULL if unknown. */
const char *thread_names_find(const struct thread_names *all, pid_t tid);

/*
 * As thread_names_find, for a thread that had this comm. Reads names again for a new thread, for a
 * changed comm, and every two to eight seconds, because other threads may rename it. At most 2 % of
 * the time goes into reads. NULL if the name may be from another time than the comm.
 */
const char *thread_names_ask(struct thread_names *all, struct hotspot *h, pid_t tid,
			     const char *comm);

/*
 * The name that an agent reported at the thread's start, if a thread of that name has this comm.
 * HotSpot shortens longer names to the first 15 bytes, or to "%.7s..%.6s" (JDK 26, os_linux.cpp,
 * os::set_native_thread_name). NULL if none was reported or it may be another thread's.
 */
const char *thread_names_reported(const struct thread_names *all, pid_t tid, const char *comm);

/* Visits all known names, in no particular order. */
void thread_names_each(const struct thread_names *all,
		       void (*visit)(pid_t tid, const char *name, void *ctx), void *ctx);
