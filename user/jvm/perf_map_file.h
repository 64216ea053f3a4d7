/* SPDX-License-Identifier: Apache-2.0 */
/* Files named perf-PID.map in the /tmp of a process and in ours. Private to user/jvm. */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "proc/status.h"

/*
 * Replaces the files, or removes them if `text` is NULL. It follows no links, changes only regular
 * files of ours or of the process, and acts with the process's rights in the process's /tmp.
 * Returns NULL, or "reason; what to do", which the caller frees.
 */
char *perf_map_put(struct process_id id, const struct str *text);
