/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a file that may be damaged or hostile, one by one. */
#pragma once

#include "elf/elf.h"

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
