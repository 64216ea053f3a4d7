/* SPDX-License-Identifier: Apache-2.0 */
/* Opens debug files for a module: the worker that reads it asks by worker_open. */
#pragma once

#include <sys/types.h>

#include "base/types.h"

struct debug_opener;

/* Freed with free(). `root` is DEBUG_ROOT of elf/debugfile.h. */
struct debug_opener *debug_opener_new(const char *root, pid_t pid, uid_t owner);

/* A worker_open_fn. */
int debug_opener_open(void *opener, u32 place, const char *path);
