/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers that agents of sysflame have open in a JVM. Each belongs to one session. */
#pragma once

#include "base/types.h"
#include "jvmmap/wire.h"

/* Opens the buffer with this nonce; -ENOENT if the process has none, -EACCES, -ESRCH. */
int memfds_open(pid_t pid, const char *nonce);

/*
 * Locks the buffer for its reader, which holds the lock as long as any process has this open file,
 * and notes that in the buffer. The agent then sees when the reader has ended. The caller owns fd.
 */
void memfds_claim(int fd);

/* The number of buffers of agents of our version; the process can forge it. */
u32 memfds_count(pid_t pid);

/*
 * Fills in the nonces of at most `max` buffers of our version whose reader has gone without ending
 * its session. `now_ns` is the process's CLOCK_MONOTONIC. Returns their number, or -EACCES, -ESRCH.
 */
int memfds_abandoned(pid_t pid, u64 now_ns, char (*nonces)[WIRE_NONCE_LEN + 1], u32 max);

/* 1 if there is one, 0 if not, -EACCES, -ESRCH. */
int memfds_any(pid_t pid);

/*
 * Requests the session with this nonce, or all sessions if it is NULL, to end at the next event. 0,
 * -EACCES, -ESRCH.
 */
int memfds_stop(pid_t pid, const char *nonce);

/* The WIRE_ABI of the agent that made a buffer; 0 if it is not such a buffer. */
u32 memfds_version(int fd);
