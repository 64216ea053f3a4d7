/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rows of every file that a known process has mapped, each built once, in the table
 * that BPF searches.
 */
#pragma once

#include "abi.h"
#include "proc/mapping.h"

struct modules;
struct module;

/*
 * `words` is the table of `nr` words; it stays the caller's. `cache_path`: the folder where rows
 * are kept from run to run, see elf/rowcache.h; NULL, or one that cannot be used: nowhere.
 */
struct modules *modules_new(union unwind_word *words, u32 nr, const char *cache_path);
void modules_free(struct modules *all);

/*
 * Fills the range that BPF searches for an executable mapping of `pid`; builds the file's rows if
 * they are not there yet. The caller gives *mod back by module_put. Where rows cannot be had (no
 * file, no .eh_frame), the range is RANGE_NO_ROWS and *mod may be NULL; a reason that lies in the
 * file is remembered and it is not tried again. -ENOSPC if the table is full: the range is then
 * RANGE_NO_ROWS too, and asking again costs little until something is given back.
 */
int modules_range(struct modules *all, pid_t pid, const struct mapping *m, struct module **mod,
		  struct unwind_range *out);
void module_put(struct module *mod);

/* Drops the rows that nobody has used for longest; false if all are in use. */
bool modules_evict(struct modules *all);

struct modules_usage {
	u32 nr_modules, nr_failed, nr_rows, nr_rows_max;
	u64 build_ns; /* CPU time of building rows */
};

struct modules_usage modules_usage(const struct modules *all);
