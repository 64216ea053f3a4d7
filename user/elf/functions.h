/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and symbols of a file, which may be damaged or hostile: where a function begins, by
 * its name for uprobes; the symbols one by one; the beginnings of all functions, also in stripped
 * files, by the search table of .eh_frame.
 */
#pragma once

#include "base/near.h"
#include "elf/elf.h"

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

typedef void (*symbol_fn)(void *ctx, const Elf64_Sym *symbol, const char *name);

/*
 * Calls `visit` for each symbol of the section `table`: ".symtab" or ".dynsym". Nothing happens if
 * the file has no such section, or has it without bytes. -ENOEXEC for a file of 32 bits, other
 * errors are those of elf.h.
 */
int symbol_table_each(const struct elf *e, const char *table, symbol_fn visit, void *ctx);

/*
 * The address of a variable as in the file, by its symbol in .symtab. -ENOENT if the file has no
 * such symbol.
 */
int symbol_table_find_variable(const struct elf *e, const char *name, u64 *vaddr);

/* Receives a function's first address. Returns false to end the visit. */
typedef bool eh_start_visit(void *arg, u64 vaddr);

#define EH_STARTS_MAX (4u << 20)

/*
 * Visits the entries of .eh_frame_hdr in its order (LSB 10.6.2). It reads only the form that
 * linkers write: 4-byte offsets from the table itself. Other or damaged tables, and tables of more
 * than EH_STARTS_MAX entries (perhaps a hole in the file), give fewer entries or none.
 */
void eh_starts_each(const struct elf *e, eh_start_visit *visit, void *arg);
