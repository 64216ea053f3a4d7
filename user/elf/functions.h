/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a function begins in a file, by its name, for uprobes. The file may be damaged or
 * hostile.
 */
#pragma once

#include "base/near.h"

struct function {
	u64 file_off; /* offset of its code in the file; 0 if the function is missing */
	u64 size;     /* size of the code; 0 if the symbol has none */
};

/*
 * Looks `nr` names up in .symtab, .dynsym and .gopclntab of the file at `fd`; out[i] belongs to
 * names[i]. "A::b" also finds the C++ method of that name, whatever its parameters. *near gets
 * names similar to the one that it wants; it may be NULL. Returns 0 even if it finds none; errors
 * are those of elf.h.
 */
int functions_find(int fd, const char *const *names, size_t nr, struct function *out,
		   struct near *near);

/*
 * Fills the missing ones of out[] from the symbols that were stripped into a separate file at one
 * of the places (debugfile.h). -ENOENT if there is no such file.
 */
struct debug_places;
int functions_find_stripped(int fd, const struct debug_places *places, const char *const *names,
			    size_t nr, struct function *out);
