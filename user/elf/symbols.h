/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a module by address, packed to some 12 bytes and the name for each. Names come
 * from .symtab, .dynsym and the PLT; what stands in the files is checked as in elf.h.
 *
 * Which symbols count: STT_FUNC, and STT_NOTYPE labels of assembly where no function is; only in
 * executable segments. A symbol with a size ends there; one without reaches to the next symbol,
 * at most to the end of its section. STT_GNU_IFUNC is left out: its address is the resolver's,
 * not the function's. Where several symbols cover an address, the one that starts last wins;
 * of those that start together: functions before labels, exported (global or weak: libc's `read`
 * is the weak name of `__read`) before local, fewest leading underscores, shortest. A module
 * whose .symtab is gone still tells by .eh_frame_hdr where its nameless functions begin.
 */
#pragma once

#include "base/auto.h"
#include "base/types.h"
#include "elf/elf.h"

struct symbols;

/*
 * Reads the functions of `module` from itself and from the .symtab of `more` (separate debug
 * files of it). A source that is damaged, or whose strings or functions would take more than
 * `max_bytes`, is left out. Always gives a table, maybe an empty one.
 */
struct symbols *symbols_read(const struct elf *module, const struct elf *const *more,
			     size_t nr_more, size_t max_bytes);

/*
 * The name of the function that holds `vaddr` (an address as in the file): "" if it has none,
 * NULL if no function is known there; valid until free. *start gets where it begins (where
 * functions overlap, the piece of it).
 */
const char *symbols_find(const struct symbols *s, u64 vaddr, u64 *start);
size_t symbols_nr(const struct symbols *s);
size_t symbols_bytes(const struct symbols *s);
void symbols_free(struct symbols *s);

AUTO_DEFINE(symbols, struct symbols *, symbols_free)
#define auto_symbols __attribute__((cleanup(auto_symbols_run)))
