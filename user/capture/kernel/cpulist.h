/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's lists of CPUs ("0-3,8"). */
#pragma once

#include "base/types.h"
#include "base/vec.h"

typedef VEC(int) cpulist;

/* Parses `text` and appends to *out; -EINVAL if it is not such a list. */
int cpulist_parse(const char *text, cpulist *out);

/* Appends the CPUs that are online. */
int cpulist_online(cpulist *out);

bool cpulist_has(const cpulist *list, int cpu);
