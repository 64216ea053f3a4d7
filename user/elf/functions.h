/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and symbols of a file, which may be damaged or hostile: where a function begins, by
 * its name for uprobes; the symbols one by one; the beginnings of all functions, also in stripped
 * files, by the search table of .eh_frame; and, by their code, the outermost functions of most
 * stacks.
 */
#pragma once

#include "base/near.h"
#include "base/types.h"
#include "elf/elf.h"

struct function {
	u64 file_off; /* offset of its code in the file; 0 if the function is missing */
	u64 size;     /* size of the code; 0 if the symbol has none */
};

/*
 * Looks `nr` names up in .symtab, .dynsym and .gopclntab of the file at `fd`; out[i] belongs to
 * names[i]. "A::b" also finds the C++ method of that name, whatever its parameters. *near gets
 * names similar to near->wanted; `near` may be NULL. Returns 0 even if it finds none; errors are
 * those of elf.h.
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

/* Receives the bounds of a function, [start, end). Returns false to end the visit. */
typedef bool bounds_visit(void *arg, u64 start, u64 end);

/*
 * Visits the functions of .eh_frame in the order of the file; x86-64 only. A part that the compiler
 * moved away from its function, and .plt as a whole, have an entry of their own. Returns false if
 * the section has no functions, or if entries are damaged or were left out.
 */
bool bounds_each(const struct elf *e, bounds_visit *visit, void *arg);

/*
 * The outermost functions of most stacks are found by their code in files without .symtab: the
 * thread start of clone3, start_thread, __libc_start_call_main, _start, main. x86-64 only. Each is
 * proven by its own code or by code and tables that refer to it, never by its place alone.
 *
 * Sources: glibc sysdeps/unix/sysv/linux/x86_64/{clone,clone3}.S, nptl/pthread_create.c,
 * sysdeps/nptl/libc_start_call_main.h, sysdeps/x86_64/start.S.
 */

/* Exported functions of the file; 0 if the file does not export the function. */
struct role_anchors {
	u64 pthread_create, clone, libc_start_main, exit;
};

/* Receives a function. Size 0 means up to the next function. */
typedef void role_visit(void *arg, u64 vaddr, u32 size, const char *name);

/* Visits the outermost functions. `starts`: the first addresses of all functions, ascending. */
void roles_each(const struct elf *e, const struct role_anchors *anchors, const u64 *starts,
		size_t nr_starts, role_visit *visit, void *arg);
