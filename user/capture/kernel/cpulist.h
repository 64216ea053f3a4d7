/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's lists of CPUs ("0-3,8"). */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"

typedef VEC(int) cpulist;

/* Parses `text` and appends to *out; -EINVAL if it is not such a list. */
int cpulist_parse(const char *text, cpulist *out);

/* Append the CPUs that are online, or that the machine has. */
int cpulist_online(cpulist *out);
int cpulist_present(cpulist *out);

/* The list of online CPUs as the kernel writes it; NULL if it is unreadable. The caller frees it.
 */
char *cpulist_online_text(void);

/* Appends the list as text, "0-3,8". */
void cpulist_text(const cpulist *list, struct str *out);

bool cpulist_has(const cpulist *list, int cpu);
