/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a file a function begins, by its name: for uprobes. The file may be damaged or hostile.
 */
#pragma once

#include "base/near.h"

struct function {
	u64 file_off; /* where its code begins in the file; 0 if there is no such function */
	u64 size;     /* of the code, 0 if the symbol does not tell */
};

/*
 * Looks `name` up in .symtab and .dynsym of a regular file. "A::b" is also found as the C++ method
 * of that name, whatever its parameters. -ENOENT if there is no such function or file; then *near
 * (may be NULL; its `wanted` is the name) holds names that resemble it. Other errors are those of
 * elf.h and open(2).
 */
int functions_find(const char *path, const char *name, struct function *out, struct near *near);

/* The same for `nr` names in the file at `fd`: out[i] is that of names[i]. 0 also if none is there.
 */
int functions_find_all(int fd, const char *const *names, size_t nr, struct function *out);

/*
 * Adds those that out[] lacks, by the symbols that were stripped from that file into another one:
 * see debugfile.h, also for `target` and `path`. -ENOENT if there is none.
 */
int functions_find_stripped(int fd, const char *target, const char *path, const char *const *names,
			    size_t nr, struct function *out);
