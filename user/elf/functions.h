/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a file a function begins, by its name: for uprobes. The file may be damaged or hostile.
 */
#pragma once

#include "base/types.h"

/*
 * Looks `name` up in .symtab and .dynsym of a regular file and sets *file_off to where its code
 * begins in the file. -ENOENT if there is no such function or file; if the file is there, near[0..]
 * get up to `max` names that resemble it, best first, NULL where there are no more, for the caller
 * to free. Other errors are those of elf.h and open(2).
 */
int functions_find(const char *path, const char *name, u64 *file_off, char **near, size_t max);
