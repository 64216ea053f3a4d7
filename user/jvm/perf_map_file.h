/* SPDX-License-Identifier: Apache-2.0 */
/* Files called perf-PID.map in the /tmp of a process and in ours: private to user/jvm. */
#pragma once

#include "base/str.h"
#include "base/types.h"

/*
 * Replaces the files, or removes them if `text` is NULL. No link is followed, what is not a plain
 * file of ours or of the process is left alone, and nothing is done in the process's /tmp that it
 * could not do itself. NULL, or "reason; what to do", which the caller frees.
 */
char *perf_map_put(pid_t pid, u64 start_ns, const struct str *text);
