/* SPDX-License-Identifier: Apache-2.0 */
/* An open store, for the files of this folder. */
#pragma once

#include <sqlite3.h>

#include "base/str.h"
#include "base/time.h"
#include "base/types.h"
#include "store/store.h"

#define HOUR_NS (3600 * NS_PER_SEC)

struct store {
	int lock, dir, profiles, parts, slices; /* descriptors, or -1 */
	sqlite3 *db;
	struct store_limits limits;
	u64 next_id;

	u64 profile_bytes, nr_profiles; /* if has_sums: see profiles_sum */
	bool has_sums;
	int fits_at; /* sqlite3_total_changes when max_disk_bytes last held; -1: not yet */

	int hour_fd; /* the file that was appended to last, or -1 */
	u64 hour;
	bool is_unsynced;
	u64 synced_ns; /* CLOCK_MONOTONIC */

	u64 seal_after_ns; /* CLOCK_MONOTONIC: no attempt before, since the last one failed */
	u64 upkept_ns;     /* when the index was last thinned */

	u64 watched_wall_ns, watched_boot_ns; /* of the last store_watch_clock; 0: none */
	/* CLOCK_BOOTTIME: until this time, ages may be wrong */
	u64 settles_boot_ns;
	bool is_unsettled; /* ages may be wrong */
};

/* parts.c: the parts of recordings. */

/* Removes what a kill left over: incomplete files, joined parts, parts of listed profiles. */
void parts_clean(struct store *s);

/* The largest id that has parts. */
u64 parts_last_id(struct store *s);

/* profiles.c: the list of profiles. */

/* Lists a profile whose file exists. `file`: its name, "" if there is none. */
int profiles_list_file(struct store *s, const struct stored *facts, const char *file);

/*
 * Call it when the index is open: notices changes of the list for profiles_sum, and makes `gone`, a
 * table in memory. It has profiles whose rows are to be removed, which a full disk may refuse.
 */
int profiles_open(struct store *s);
#define NOT_GONE "id NOT IN (SELECT id FROM gone)"

/* Adds a profile, whose file may be missing, to the table `gone`. */
int profiles_forget(struct store *s, u64 id);

/* Brings s->profile_bytes and s->nr_profiles up to date; deleted ones count as bytes only. */
void profiles_sum(struct store *s);

/*
 * Removes a profile's file, then the profile from the index. If the second step fails, the profile
 * is no longer listed, and store_tick tries again.
 */
int profiles_remove(struct store *s, u64 id);

/* slices.c: the files of slices. */

/* Writes what was appended to the disk. */
void slices_sync(struct store *s);
void slices_close(struct store *s);

/* Cuts an incomplete record off the end of an hour's file. *is_sealed: it has no plain records. */
int slices_cut_tail(struct store *s, u64 hour, bool *is_sealed);

/* Compresses the plain records of an hour's file. */
int slices_seal(struct store *s, u64 hour);

/* Removes an hour's file, and its rows in the index. */
int slices_remove(struct store *s, u64 hour);

/* Removes the rows of an hour whose file is gone from the index. */
int slices_forget(struct store *s, u64 hour);

/* covered.c: the time that has slices. */

/* Notes the time of a slice. */
int covered_add(struct store *s, u64 begin_ns, u64 end_ns);

/* Adds up the slices that begin in [from, end), which are multiples of the step, by steps. */
int covered_thin(struct store *s, u64 from_ns, u64 end_ns, u64 step_ns);

/* Forgets the slices that begin in [from, end). */
int covered_forget(struct store *s, u64 from_ns, u64 end_ns);

/* Forgets slices that begin before `old_ns`, and all but the newest 1,000 reasons. */
int covered_upkeep(struct store *s, u64 old_ns);

/*
 * facts.c: a small file beside each profile's file: its name, pin and numbers, for the case that
 * the index is lost. It is not synced: the index is.
 */

/* Writes the facts of a profile with that file. An old file is replaced. Negative errno. */
int facts_write(struct store *s, const struct stored *facts, const char *file);

/*
 * Fills in the facts that the file has; other fields stay as they are. The caller owns the texts of
 * *out.
 */
void facts_read(struct store *s, const char *file, struct stored *out);
void facts_remove(struct store *s, const char *file);

/* Whether `name` is the name of a file of facts; `file` gets the name of its profile's file. */
bool facts_file_parse(const char *name, char file[]);

/* rebuild.c: brings the index in line with the files, which are the truth. */

/*
 * Lists profiles and hours whose files are not listed, and takes those off whose files are gone.
 * Removes what interrupted writes left over.
 */
int store_reconcile(struct store *s);

/* The largest id that any file or entry has. */
u64 store_last_id(struct store *s);

/* index.c: the store's index: SQLite, with errors as negative errnos. */

/*
 * Opens DIR/index.db, or makes it, and brings its tables to this version. An index that is damaged
 * is put aside as index.damaged, and an empty one is made. One that cannot be read stays. -EINVAL
 * and a sentence if a newer version of sysflame wrote it.
 */
int index_open(int dir, sqlite3 **out, struct str *why);

/* The negative errno for a result of SQLite; 0 for success, -ENOENT for no row. */
int index_error(sqlite3 *db, int result);

/*
 * Prepares a statement and binds values: each letter of `types` is 'i' (u64) or 't' (text, not
 * copied). NULL if it cannot be prepared. The caller runs it before it asks for another of the same
 * text, and releases it by auto_stmt.
 */
sqlite3_stmt *index_ask(sqlite3 *db, const char *sql, const char *types, ...);

/* Runs such a statement to its end. */
int index_run(sqlite3 *db, const char *sql, const char *types, ...);

/* Runs a query for one number. Returns 0 if the query finds no row. */
u64 index_number(sqlite3 *db, const char *sql, const char *types, ...);

/* A column's text, never NULL; the caller frees it. */
char *index_text(sqlite3_stmt *row, int column);

/* Ends a statement. It is kept for the next one of its text, unless there are too many. */
void index_release(sqlite3_stmt *s);

/* Closes the index and the statements that are kept. */
void index_close(sqlite3 *db);

static inline void auto_stmt_run(sqlite3_stmt **s)
{
	if (*s)
		index_release(*s);
}
#define auto_stmt __attribute__((cleanup(auto_stmt_run)))
