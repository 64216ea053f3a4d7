/* SPDX-License-Identifier: Apache-2.0 */
/* Takes all rights from this process but to compute and to answer: seccomp(2), capabilities(7). */
#pragma once

#include "base/types.h"

/*
 * Gives up all capabilities for good, and the ids, core dumps and tracing where that is permitted.
 * The process becomes a user of its own if it may change its ids. Returns a negative errno.
 */
int sandbox_drop_rights(void);

/*
 * Forbids every system call that a parser does not need. A forbidden call ends the process with
 * SIGSYS. The process may allocate `bytes` more than it has, and ends with its parent. The kernel
 * ends it after `cpu_s` seconds of CPU time (0: never). Call it
 * after sandbox_drop_rights. After an error the process must not touch a file.
 */
int sandbox_enter(u64 bytes, u64 cpu_s);
