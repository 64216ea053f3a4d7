/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's lists of CPUs ("0-3,8"). */
#pragma once

#include "base/types.h"
#include "base/vec.h"

typedef VEC(int) cpulist;

/* Reads `text`, appending to *out; -EINVAL for what is no such list. */
int cpulist_parse(const char *text, cpulist *out);

/* The CPUs that are online now. */
int cpulist_online(cpulist *out);

bool cpulist_has(const cpulist *list, int cpu);
