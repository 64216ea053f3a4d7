/* SPDX-License-Identifier: Apache-2.0 */
/* The list of profiles and their files. Part of store/store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/files.h"
#include "store/names.h"
#include "store/store.h"
#include "store/store_state.h"

#define WORDS_MAX 16
#define COLUMNS                                                                                    \
	"id, name, events, target, unit, error, source, summary, start_ns, duration_ns, samples, " \
	"lost, total, size_bytes, rate_hz, state, pinned, deleted_ns"

#define LISTED "deleted_ns = 0 AND " NOT_GONE

void stored_fini(struct stored *s)
{
	free(s->name);
	free(s->events);
	free(s->target);
	free(s->unit);
	free(s->error);
	free(s->source);
	free(s->summary);
	*s = (struct stored){ 0 };
}

void stored_list_fini(struct stored_list *l)
{
	vec_each(s, &l->list)
		stored_fini(s);
	vec_fini(&l->list);
}

static struct stored read_row(sqlite3_stmt *row)
{
	struct stored s = { .id = (u64)sqlite3_column_int64(row, 0) };
	char **texts[] = {
		&s.name, &s.events, &s.target, &s.unit, &s.error, &s.source, &s.summary
	};
	u64 *numbers[] = { &s.start_ns, &s.duration_ns, &s.samples, &s.lost,
			   &s.total,    &s.size_bytes,  &s.rate_hz };
	int at = 1;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*texts[i] = index_text(row, at++);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*numbers[i] = (u64)sqlite3_column_int64(row, at++);
	s.state = (enum stored_state)sqlite3_column_int(row, at++);
	s.pinned = sqlite3_column_int(row, at++) != 0;
	s.deleted_ns = (u64)sqlite3_column_int64(row, at);
	return s;
}

int profiles_list_file(struct store *s, const struct stored *f, const char *file)
{
	return index_run(s->db,
			 "INSERT INTO profiles (" COLUMNS ", file)"
			 " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			 "itttttttiiiiiiiiiit", f->id, f->name ?: "", f->events ?: "",
			 f->target ?: "", f->unit ?: "", f->error ?: "", f->source ?: "",
			 f->summary ?: "", f->start_ns, f->duration_ns, f->samples, f->lost,
			 f->total, f->size_bytes, f->rate_hz, (u64)f->state, (u64)f->pinned,
			 f->deleted_ns, file);
}

static void row_changed(void *ctx, int action, const char *db, const char *table, sqlite3_int64 row)
{
	struct store *s = ctx;

	if (!strcmp(table, "profiles") || !strcmp(table, "gone"))
		s->has_sums = false;
}

int profiles_open(struct store *s)
{
	sqlite3_update_hook(s->db, row_changed, s);
	return index_run(s->db, "CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY)", "");
}

/*
 * Counts profiles and bytes through an index: the rows themselves are large, because of their
 * summaries.
 */
void profiles_sum(struct store *s)
{
	if (s->has_sums)
		return;
	auto_stmt sqlite3_stmt *row = index_ask(
		s->db, "SELECT sum(size_bytes), sum(deleted_ns = 0) FROM profiles WHERE " NOT_GONE,
		"");
	s->has_sums = row && sqlite3_step(row) == SQLITE_ROW;
	s->profile_bytes = s->has_sums ? (u64)sqlite3_column_int64(row, 0) : 0;
	s->nr_profiles = s->has_sums ? (u64)sqlite3_column_int64(row, 1) : 0;
}

/* Pinned profiles stay for ever: they must leave room for others and for slices. */
static bool may_pin_more(struct store *s, u64 size_bytes)
{
	u64 pinned =
		index_number(s->db, "SELECT sum(size_bytes) FROM profiles WHERE pinned = 1", "");

	return !s->limits.max_disk_bytes ||
	       pinned + size_bytes <= s->limits.max_disk_bytes / STORE_PINNED_PART;
}

int store_add(struct store *s, const struct stored *facts, const void *bytes, size_t nr)
{
	struct stored own = *facts; /* shares the texts */
	char file[FILE_NAME_BYTES] = "";
	int err = 0;

	if (index_number(s->db, "SELECT COUNT(*) FROM profiles WHERE id = ?", "i", facts->id))
		return -EEXIST;
	own.size_bytes = bytes ? nr : 0;
	own.deleted_ns = 0;
	if (bytes) {
		profile_file_name(facts->start_ns, facts->id, facts->events ?: "",
				  facts->target ?: "", file);
		err = file_put(s->profiles, file, bytes, nr, false);
	}
	if (err)
		return err;
	own.pinned = own.pinned && may_pin_more(s, own.size_bytes);
	err = profiles_list_file(s, &own, file);
	if (err && bytes)
		unlinkat(s->profiles, file, 0);
	if (!err && bytes)
		/* no error: these facts are lost only if the index is lost, too */
		facts_write(s, &own, file);
	return err;
}

int store_get(struct store *s, u64 id, struct stored *out)
{
	auto_stmt sqlite3_stmt *row = index_ask(
		s->db, "SELECT " COLUMNS " FROM profiles WHERE id = ? AND " LISTED, "i", id);
	int result = row ? sqlite3_step(row) : sqlite3_errcode(s->db);

	if (result != SQLITE_ROW)
		return result == SQLITE_DONE ? -ENOENT : index_error(s->db, result);
	*out = read_row(row);
	return 0;
}

/* The name of a profile's file, "" if it has none. NULL if there is no such profile. */
static char *file_of(struct store *s, u64 id)
{
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db, "SELECT file FROM profiles WHERE id = ?", "i", id);

	return row && sqlite3_step(row) == SQLITE_ROW ? index_text(row, 0) : NULL;
}

int store_open_file(struct store *s, u64 id)
{
	auto_free char *file = file_of(s, id);

	return file && *file ? file_get(s->profiles, file) : -ENOENT;
}

/* Appends a condition for each word. The caller binds them in order. */
static void add_conditions(struct str *sql, int nr_words)
{
	for (int i = 0; i < nr_words; i++)
		str_add(sql, " AND instr(lower(name || char(10) || events || char(10) || target),"
			     " lower(?)) > 0");
}

static int split_words(const char *words, char *at[WORDS_MAX])
{
	int nr = 0;

	while (nr < WORDS_MAX) {
		words += strspn(words, " \t");
		size_t len = strcspn(words, " \t");
		if (!len)
			break;
		at[nr++] = xstrndup(words, len);
		words += len;
	}
	return nr;
}

static sqlite3_stmt *ask_list(struct store *s, const char *what, char *const *words, int nr_words,
			      const char *rest)
{
	auto_str struct str sql = { 0 };
	sqlite3_stmt *row = NULL;

	str_addf(&sql, "SELECT %s FROM profiles WHERE " LISTED, what);
	add_conditions(&sql, nr_words);
	str_add(&sql, rest);
	sqlite3_prepare_v2(s->db, sql.at, -1, &row, NULL);
	for (int i = 0; row && i < nr_words; i++)
		sqlite3_bind_text(row, i + 1, words[i], -1, SQLITE_STATIC);
	return row;
}

static s64 bounded(u64 value)
{
	return value > INT64_MAX ? INT64_MAX : (s64)value;
}

int store_list(struct store *s, const char *words, u64 offset, u64 max, struct stored_list *out)
{
	char *word[WORDS_MAX];
	int nr = split_words(words ?: "", word);
	struct stored_list list = { 0 };
	auto_stmt sqlite3_stmt *count = ask_list(s, "COUNT(*)", word, nr, "");
	auto_stmt sqlite3_stmt *row =
		ask_list(s, COLUMNS, word, nr, " ORDER BY id DESC LIMIT ? OFFSET ?");
	int result = count && row ? sqlite3_step(count) : sqlite3_errcode(s->db);

	if (result == SQLITE_ROW) {
		list.nr_all = (u64)sqlite3_column_int64(count, 0);
		sqlite3_bind_int64(row, nr + 1, bounded(max));
		sqlite3_bind_int64(row, nr + 2, bounded(offset));
		while ((result = sqlite3_step(row)) == SQLITE_ROW)
			vec_push(&list.list, read_row(row));
	}
	sqlite3_reset(row); /* before the texts go */
	for (int i = 0; i < nr; i++)
		free(word[i]);
	if (result != SQLITE_DONE) {
		stored_list_fini(&list);
		return index_error(s->db, result) ?: -EIO;
	}
	*out = list;
	return 0;
}

/* The result of a statement that changes one profile: -ENOENT if it changed none. */
static int changed_one(struct store *s, int err)
{
	return err ? err : sqlite3_changes(s->db) ? 0 : -ENOENT;
}

/* Writes the facts of a profile to its file again, after a change in the index. */
static int write_facts(struct store *s, u64 id, int err)
{
	auto_free char *file = file_of(s, id);
	struct stored facts;

	if (err || !file || !*file || store_get(s, id, &facts))
		return err;
	facts_write(s, &facts, file);
	stored_fini(&facts);
	return 0;
}

int store_rename(struct store *s, u64 id, const char *name)
{
	int err = changed_one(s, index_run(s->db,
					   "UPDATE profiles SET name = ? WHERE id = ? AND " LISTED,
					   "ti", name, id));
	return write_facts(s, id, err);
}

int store_pin(struct store *s, u64 id, bool pinned)
{
	struct stored facts;

	if (pinned && !store_get(s, id, &facts)) {
		bool may_pin = facts.pinned || may_pin_more(s, facts.size_bytes);
		stored_fini(&facts);
		if (!may_pin)
			return -EDQUOT;
	}
	int err = changed_one(
		s, index_run(s->db, "UPDATE profiles SET pinned = ? WHERE id = ? AND " LISTED, "ii",
			     (u64)pinned, id));
	return write_facts(s, id, err);
}

int store_set_summary(struct store *s, u64 id, const char *json, u64 total, const char *unit)
{
	return changed_one(
		s, index_run(s->db,
			     "UPDATE profiles SET summary = ?, total = ?, unit = ? WHERE id = ?",
			     "titi", json, total, unit, id));
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

int store_delete(struct store *s, u64 id)
{
	int err = changed_one(
		s, index_run(s->db, "UPDATE profiles SET deleted_ns = ? WHERE id = ? AND " LISTED,
			     "ii", time_wall_ns(), id));

	if (!is_full(err))
		return err;
	err = profiles_remove(s, id);
	return is_full(err) ? 0 : err; /* the file is gone; its row is removed later */
}

static int remove_all(struct store *s, u64 *nr)
{
	for (*nr = 0;; ++*nr) {
		u64 id = index_number(
			s->db, "SELECT min(id) FROM profiles WHERE pinned = 0 AND " LISTED, "");
		int err = id ? profiles_remove(s, id) : 0;
		if (!id || (err && !is_full(err)))
			return err;
	}
}

int store_delete_all(struct store *s, u64 *nr, u64 *undo)
{
	u64 now_ns = time_wall_ns();
	int err =
		index_run(s->db, "UPDATE profiles SET deleted_ns = ? WHERE pinned = 0 AND " LISTED,
			  "i", now_ns);

	*undo = 0;
	if (is_full(err))
		return remove_all(s, nr);
	if (err)
		return err;
	*nr = (u64)sqlite3_changes(s->db);
	*undo = *nr ? now_ns : 0;
	return 0;
}

int store_restore(struct store *s, u64 id)
{
	auto_free char *file = file_of(s, id);

	if (!file)
		return -ENOENT;
	auto_close int fd = *file ? file_get(s->profiles, file) : -1;
	if (*file && fd < 0)
		return fd;
	return changed_one(s, index_run(s->db,
					"UPDATE profiles SET deleted_ns = 0"
					" WHERE id = ? AND deleted_ns > 0",
					"i", id));
}

int store_restore_all(struct store *s, u64 undo, u64 *nr)
{
	u64 id = 0, nr_back = 0;

	while (undo && (id = index_number(s->db,
					  "SELECT min(id) FROM profiles WHERE deleted_ns = ?"
					  " AND id > ?",
					  "ii", undo, id))) {
		int err = store_restore(s, id);
		if (err && err != -ENOENT) /* a profile whose file is missing stays deleted */
			return err;
		nr_back += !err;
	}
	*nr = nr_back;
	return nr_back ? 0 : -ENOENT;
}

int profiles_forget(struct store *s, u64 id)
{
	return index_run(s->db, "INSERT OR IGNORE INTO gone VALUES (?)", "i", id);
}

static int take_back(struct store *s, u64 id)
{
	return index_run(s->db, "DELETE FROM gone WHERE id = ?", "i", id);
}

int profiles_remove(struct store *s, u64 id)
{
	auto_free char *file = file_of(s, id);

	/* Forget the profile first: every listed profile must have its file. */
	int err = profiles_forget(s, id);
	if (err)
		return err;
	if (file && *file && unlinkat(s->profiles, file, 0) && errno != ENOENT) {
		err = -errno;
		take_back(s, id);
		return err;
	}
	if (file && *file)
		facts_remove(s, file);
	err = index_run(s->db, "DELETE FROM profiles WHERE id = ?", "i", id);
	return err ? err : take_back(s, id);
}
