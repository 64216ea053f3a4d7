/* SPDX-License-Identifier: Apache-2.0 */
/* The store's index. Part of store/store_state.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/store_state.h"

/* migrations[n] leads from version n to n + 1. Append only. */
static const char *const migrations[] = {
	"CREATE TABLE profiles (id INTEGER PRIMARY KEY, file TEXT, name TEXT, events TEXT,"
	"  target TEXT, unit TEXT, error TEXT, source TEXT, summary TEXT, start_ns INTEGER,"
	"  duration_ns INTEGER, samples INTEGER, lost INTEGER, total INTEGER, size_bytes INTEGER,"
	"  rate_hz INTEGER, state INTEGER, pinned INTEGER, deleted_ns INTEGER);"
	"CREATE INDEX deleted ON profiles (deleted_ns) WHERE deleted_ns > 0;"
	"CREATE TABLE hours (hour INTEGER PRIMARY KEY, size_bytes INTEGER, first_ns INTEGER,"
	"  is_sealed INTEGER);"
	"CREATE TABLE services (id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
	"CREATE TABLE uses (time_ns INTEGER, service INTEGER, cpu_ns INTEGER,"
	"  PRIMARY KEY (time_ns, service)) WITHOUT ROWID;"
	"CREATE TABLE audit (id INTEGER PRIMARY KEY, at_ns INTEGER, who TEXT, what TEXT);"
	"CREATE TABLE settings (key TEXT PRIMARY KEY, json TEXT) WITHOUT ROWID;",
	"ALTER TABLE hours ADD COLUMN step_ns INTEGER NOT NULL DEFAULT 0;",
	"CREATE TABLE uses_of_events (time_ns INTEGER, event TEXT, service INTEGER, value INTEGER,"
	"  PRIMARY KEY (time_ns, event, service)) WITHOUT ROWID;"
	"INSERT INTO uses_of_events SELECT time_ns, 'cpu', service, cpu_ns FROM uses;"
	"DROP TABLE uses; ALTER TABLE uses_of_events RENAME TO uses;",
	"CREATE TABLE pauses (at_ns INTEGER PRIMARY KEY, why TEXT);"
	"CREATE TABLE coverage (begin_ns INTEGER PRIMARY KEY, end_ns INTEGER, covered_ns INTEGER);"
	/* Rows that begin at full minutes were thinned, and cover 1 or 10 minutes. */
	"INSERT INTO coverage SELECT time_ns, time_ns + ns, ns FROM (SELECT time_ns,"
	"  min(ifnull(lead(time_ns) OVER (ORDER BY time_ns) - time_ns, 10000000000),"
	"      CASE WHEN time_ns % 600000000000 = 0 THEN 600000000000"
	"           WHEN time_ns % 60000000000 = 0 THEN 60000000000 ELSE 10000000000 END) AS ns"
	"  FROM (SELECT DISTINCT time_ns FROM uses));",
	/*
	 * With this index, sums need not read the rows, which are large because of the summaries.
	 */
	"CREATE INDEX sizes ON profiles (pinned, deleted_ns, size_bytes);",
};

#define VERSION ((u64)ARRAY_SIZE(migrations))

#define STATEMENTS_KEPT 64 /* texts are of the source, but for some words of a search */

/* The process is the only user, hence no shared memory; nothing is written outside of DIR. */
static const char *const settings = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
				    "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
				    "PRAGMA cache_size = -8192;"
				    "PRAGMA journal_size_limit = 4194304;";

int index_error(sqlite3 *db, int result)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CANTOPEN:
	case SQLITE_IOERR:
		return system ? -system : -EIO;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_TOOBIG:
		return -E2BIG;
	default:
		return -EIO;
	}
}

/* A kept statement of that text that nobody runs; counts all statements. */
static sqlite3_stmt *find_kept(sqlite3 *db, const char *sql, size_t *nr)
{
	sqlite3_stmt *found = NULL;

	for (sqlite3_stmt *s = sqlite3_next_stmt(db, NULL); s; s = sqlite3_next_stmt(db, s)) {
		++*nr;
		if (!found && !sqlite3_stmt_busy(s) && !strcmp(sqlite3_sql(s), sql))
			found = s;
	}
	return found;
}

static sqlite3_stmt *ask(sqlite3 *db, const char *sql, const char *types, va_list args)
{
	size_t nr = 0;
	sqlite3_stmt *s = find_kept(db, sql, &nr);

	if (!s && sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return NULL;
	for (int i = 0; types[i]; i++) {
		if (types[i] == 'i')
			sqlite3_bind_int64(s, i + 1, (sqlite3_int64)va_arg(args, u64));
		else
			sqlite3_bind_text(s, i + 1, va_arg(args, const char *), -1, SQLITE_STATIC);
	}
	return s;
}

sqlite3_stmt *index_ask(sqlite3 *db, const char *sql, const char *types, ...)
{
	va_list args;

	va_start(args, types);
	sqlite3_stmt *s = ask(db, sql, types, args);
	va_end(args);
	return s;
}

void index_release(sqlite3_stmt *s)
{
	size_t nr = 0;

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	find_kept(sqlite3_db_handle(s), "", &nr);
	if (nr > STATEMENTS_KEPT)
		sqlite3_finalize(s);
}

void index_close(sqlite3 *db)
{
	sqlite3_stmt *s;

	while (db && (s = sqlite3_next_stmt(db, NULL)))
		sqlite3_finalize(s);
	sqlite3_close(db);
}

int index_run(sqlite3 *db, const char *sql, const char *types, ...)
{
	va_list args;

	va_start(args, types);
	auto_stmt sqlite3_stmt *s = ask(db, sql, types, args);
	va_end(args);
	int result = s ? SQLITE_ROW : sqlite3_errcode(db);
	while (result == SQLITE_ROW && s)
		result = sqlite3_step(s);
	return index_error(db, result);
}

u64 index_number(sqlite3 *db, const char *sql, const char *types, ...)
{
	va_list args;

	va_start(args, types);
	auto_stmt sqlite3_stmt *s = ask(db, sql, types, args);
	va_end(args);
	return s && sqlite3_step(s) == SQLITE_ROW ? (u64)sqlite3_column_int64(s, 0) : 0;
}

char *index_text(sqlite3_stmt *row, int column)
{
	return xstrdup((const char *)sqlite3_column_text(row, column) ?: "");
}

static bool is_damaged(int result)
{
	return (result & 0xff) == SQLITE_CORRUPT || (result & 0xff) == SQLITE_NOTADB;
}

/* Opens the file and reads its version. Returns a result of SQLite. */
static int open_file(int dir, sqlite3 **out, u64 *version)
{
	char path[64];
	sqlite3_stmt *s = NULL;

	/* SQLite resolves the link: all its files are in the directory. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/index.db", dir);
	int result = sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_exec(*out, settings, NULL, NULL, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_prepare_v2(*out, "PRAGMA user_version", -1, &s, NULL);
	if (result == SQLITE_OK && (result = sqlite3_step(s)) == SQLITE_ROW) {
		*version = (u64)sqlite3_column_int64(s, 0);
		result = SQLITE_OK;
	}
	sqlite3_finalize(s);
	return result;
}

/* Whether the last read of the file or its journal failed. */
static bool failed_to_read(sqlite3 *db)
{
	sqlite3_file *journal = NULL;
	int of_file = 0, of_journal = 0;

	sqlite3_file_control(db, NULL, SQLITE_FCNTL_LAST_ERRNO, &of_file);
	sqlite3_file_control(db, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &journal);
	if (journal && journal->pMethods)
		journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &of_journal);
	return of_file || of_journal;
}

/* Returns a result of SQLite. */
static int check(sqlite3 *db)
{
	auto_stmt sqlite3_stmt *s = index_ask(db, "PRAGMA quick_check(1)", "");
	int result = s ? sqlite3_step(s) : sqlite3_errcode(db);

	if (result != SQLITE_ROW)
		return result == SQLITE_DONE ? SQLITE_CORRUPT : result;
	if (!strcmp((const char *)sqlite3_column_text(s, 0) ?: "", "ok"))
		return SQLITE_OK;
	/* The check reports unreadable pages as damage, too, so distinguish the two. */
	return failed_to_read(db) ? SQLITE_IOERR : SQLITE_CORRUPT;
}

static int migrate(sqlite3 *db, u64 version)
{
	int result = SQLITE_OK;

	for (; version < VERSION && result == SQLITE_OK; version++) {
		char *set = sqlite3_mprintf("BEGIN; %s PRAGMA user_version = %llu; COMMIT",
					    migrations[version], version + 1);
		result = sqlite3_exec(db, set, NULL, NULL, NULL);
		sqlite3_free(set);
		if (result != SQLITE_OK)
			sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
	return result;
}

/* Keeps the damaged file for inspection. Its journal would spoil a new one. */
static void put_aside(int dir)
{
	renameat(dir, "index.db", dir, "index.damaged");
	unlinkat(dir, "index.db-wal", 0);
	unlinkat(dir, "index.db-shm", 0);
	unlinkat(dir, "index.db-journal", 0);
}

static int open_checked(int dir, sqlite3 **out, u64 *version)
{
	int result = open_file(dir, out, version);

	if (result == SQLITE_OK && *version <= VERSION)
		result = check(*out);
	if (result == SQLITE_OK && *version <= VERSION)
		result = migrate(*out, *version);
	/* The index does not have the version that it states. It is rebuilt from the files then. */
	return result == SQLITE_ERROR ? SQLITE_CORRUPT : result;
}

int index_open(int dir, sqlite3 **out, struct str *why)
{
	sqlite3 *db = NULL;
	u64 version = 0;
	int result = open_checked(dir, &db, &version);

	if (is_damaged(result)) {
		index_close(db);
		put_aside(dir);
		version = 0;
		result = open_checked(dir, &db, &version);
	}
	int err = index_error(db, result);
	if (err)
		str_addf(why, "cannot open index.db: %s%s",
			 db ? sqlite3_errstr(result) : "no memory",
			 result == SQLITE_CANTOPEN ? "; may its user enter the folders above it?"
						   : "");
	if (!err && version > VERSION) {
		str_add(why, "a newer version of sysflame wrote this directory");
		err = -EINVAL;
	}
	if (err) {
		index_close(db);
		return err;
	}
	*out = db;
	return 0;
}
