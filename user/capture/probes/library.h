/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file that a user means by the name of a library or program, as perf and bpftrace do. */
#pragma once

#include "base/types.h"

/* Whether "libc", "libc.so" or "libc.so.6" means this file; they also mean "libc-2.31.so". */
bool library_is_called(const char *file_name, const char *name);

/*
 * Searches the code that `pid` has mapped, for a name or the process's own path. The path leads
 * through the process's root folder if that differs from ours. The caller frees *path. -ENOENT if
 * there is no such mapping.
 */
int library_find_mapped(pid_t pid, const char *name, char **path);

/*
 * Finds the file that the dynamic linker of this node would load, otherwise a program of PATH.
 * `cache` is the linker's cache: /etc/ld.so.cache except in tests.
 */
int library_find(const char *cache, const char *name, char **path);

#define LIBRARY_CACHE "/etc/ld.so.cache"
