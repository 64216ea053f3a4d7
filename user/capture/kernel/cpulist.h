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

/*
 * A text that is another one after a CPU went or came; NULL if the list is unreadable. The caller
 * frees it. It has the inode of each CPU's folder `topology`, which the kernel removes when the CPU
 * goes and makes anew when it comes back (topology_remove_dev, drivers/base/topology.c).
 */
char *cpulist_history(void);

/* Appends the list as text, "0-3,8". */
void cpulist_text(const cpulist *list, struct str *out);

bool cpulist_has(const cpulist *list, int cpu);
