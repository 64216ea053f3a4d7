/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rows of every file that a known process has mapped, each built once, in the table that
 * BPF searches.
 */
#pragma once

#include "abi.h"
#include "proc/mapping.h"
#include "proc/target_file.h"
#include "sandbox/workers.h"

struct modules;
struct module;

/*
 * `words` is the table of `nr` words; it stays the caller's. `cache_path` is the folder that keeps
 * rows between runs, see elf/rowcache.h. With NULL, or an unusable folder, no rows are kept.
 */
struct modules *modules_new(union unwind_word *words, u32 nr, const char *cache_path);
void modules_free(struct modules *all);

/*
 * Lets workers compile the rows; `workers` must outlive `all`. Without workers this process
 * compiles them.
 */
void modules_use_workers(struct modules *all, struct workers *workers);

/*
 * The user for whom the calls below build rows. A user other than root has at most a quarter of the
 * files that are built at a time; further ones are -EAGAIN.
 */
void modules_set_user(struct modules *all, uid_t user);

/* Ancestors of the process for which the calls below build rows: see struct mapper. */
void modules_set_ancestors(struct modules *all, const struct ancestors *ancestors);

/* Starts to build the rows of the file that `m` maps, if they do not exist; does not wait. */
void modules_prepare(struct modules *all, pid_t pid, const struct mapping *m);

/*
 * Fills in the range that BPF searches for an executable mapping of `pid`. Builds the file's rows
 * if they do not exist yet. The caller releases *mod with module_put. Without rows (no file, no
 * .eh_frame) the range is RANGE_NO_ROWS and *mod may be NULL. If the file is the reason, it is not
 * tried again. -EAGAIN while a worker builds the rows, or if the file cannot be opened now: the
 * opener or the file system does not answer, or descriptors are short. -ENOSPC if the table is
 * full: the range is RANGE_NO_ROWS too, and retries are cheap until something is freed.
 */
int modules_range(struct modules *all, pid_t pid, const struct mapping *m, struct module **mod,
		  struct unwind_range *out);
void module_put(struct module *mod);

/*
 * Forgets files that no process maps: those without rows if they were not asked for since the
 * previous call, others some minutes later.
 */
void modules_turn(struct modules *all);

/* The number of words in the table that hold rows built for this user. */
u64 modules_words_of(const struct modules *all, uid_t user);

/* Finds a user other than root and `but` whose rows take more than `share` words. */
bool modules_find_greedy(const struct modules *all, u32 share, uid_t but, uid_t *user);

struct modules_usage {
	u32 nr_modules, nr_failed, nr_rows, nr_rows_max;
	u64 build_ns; /* CPU time spent on building rows */
	u64 bytes;    /* besides the rows */
};

struct modules_usage modules_usage(const struct modules *all);
