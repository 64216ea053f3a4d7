/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a module by address, packed to about 12 bytes plus the name for each. Names come
 * from .symtab, .dynsym and the PLT. The input is checked as in elf.h.
 *
 * Used symbols: STT_FUNC, and STT_NOTYPE labels of assembly where there is no function; only in
 * executable segments. A symbol with a size covers that many bytes. A symbol without a size reaches
 * to the next symbol, at most to the end of its section. STT_GNU_IFUNC is skipped, because its
 * address is the resolver's and not the function's.
 *
 * If several symbols cover an address, the one that starts last wins. For the same start the order
 * is: functions before labels, exported ones (global or weak: libc's `read` is the weak name of
 * `__read`) before local ones, fewest leading underscores, shortest name. Without .symtab,
 * .gopclntab gives the functions of a Go program, and .eh_frame the bounds of all functions: those
 * of exported functions whose symbol has no size, and nameless ones. Some of these are named by
 * their role (functions.h).
 */
#pragma once

#include "base/auto.h"
#include "base/types.h"
#include "elf/elf.h"

struct symbols;

/*
 * Reads the functions of `module` from itself and from the .symtab of its separate debug files,
 * `more`. Skips a source that is damaged, or whose strings or functions would take more than
 * `max_bytes`. Always returns a table; it may be empty.
 */
struct symbols *symbols_read(const struct elf *module, const struct elf *const *more,
			     size_t nr_more, size_t max_bytes);

/*
 * The name of the function that holds `vaddr` (an address as in the file). "" if the function has
 * no name, NULL if no function is known there. Valid until symbols_free. *start gets the function's
 * start, or that of its piece if it has a name and functions overlap.
 */
const char *symbols_find(const struct symbols *s, u64 vaddr, u64 *start);

/*
 * The code around `vaddr` in which no function is known, [*start, *end). False if a function is, or
 * if the address is outside the code.
 */
bool symbols_gap(const struct symbols *s, u64 vaddr, u64 *start, u64 *end);

/* Whether this name was found by the function's role. */
bool symbols_is_role(const struct symbols *s, const char *name);

/*
 * Whether this name is inferred: the symbol of that exported function does not cover the address.
 * The function begins there by .eh_frame, and the symbol ends too early. Or neither says where it
 * ends, and no other function is known to begin in between.
 */
bool symbols_is_guess(const struct symbols *s, const char *name);

/* Hands the table to `put` in parts; returns its first error. */
int symbols_encode(const struct symbols *s, int (*put)(void *ctx, const void *bytes, size_t len),
		   void *ctx);

/*
 * Takes over the buffer *bytes, from malloc, unless it is too short for what its head says. Anybody
 * may have made the bytes: -EBADMSG. The caller owns *out.
 */
int symbols_decode(void **bytes, size_t nr, struct symbols **out);
size_t symbols_bytes(const struct symbols *s);
void symbols_free(struct symbols *s);

AUTO_DEFINE(symbols, struct symbols *, symbols_free)
#define auto_symbols __attribute__((cleanup(auto_symbols_run)))
