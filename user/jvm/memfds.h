/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers that agents of sysflame have open in a JVM, each the sign of a session. */
#pragma once

#include "base/types.h"

/* Opens the buffer with this nonce; -ENOENT if the process has none, -EACCES, -ESRCH. */
int memfds_open(pid_t pid, const char *nonce);

/* Whether there is any. */
bool memfds_any(pid_t pid);

/* Asks the session with this nonce, or all of them if it is NULL, to end at the next event. */
void memfds_stop(pid_t pid, const char *nonce);

/* The WIRE_ABI of the agent that made a buffer; 0 if it is none. */
u32 memfds_version(int fd);
