/* SPDX-License-Identifier: Apache-2.0 */
/* The store's index: SQLite, with errors as negative errnos. */
#pragma once

#include <sqlite3.h>

#include "base/str.h"
#include "base/types.h"

/*
 * Opens DIR/index.db, or makes it, and brings its tables to this version. An index that is damaged
 * is put aside as index.damaged, and an empty one is made. One that cannot be read stays. -EINVAL
 * and a sentence if a newer version of sysflame wrote it.
 */
int index_open(int dir, sqlite3 **out, struct str *why);

/* The negative errno for a result of SQLite; 0 for success, -ENOENT for no row. */
int index_error(sqlite3 *db, int result);

/*
 * Prepares a statement and binds `nr` values: each letter of `types` is 'i' (u64) or 't' (text, not
 * copied). NULL if it cannot be prepared. The caller finalizes it.
 */
sqlite3_stmt *index_ask(sqlite3 *db, const char *sql, const char *types, ...);

/* Runs such a statement to its end. */
int index_run(sqlite3 *db, const char *sql, const char *types, ...);

/* The first column of the first row as a number; 0 if there is none. */
u64 index_number(sqlite3 *db, const char *sql, const char *types, ...);

/* A column's text, never NULL; the caller frees it. */
char *index_text(sqlite3_stmt *row, int column);

static inline void auto_stmt_run(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}
#define auto_stmt __attribute__((cleanup(auto_stmt_run)))
