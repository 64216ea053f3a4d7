/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the index in line with the files. Part of store/store_state.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/files.h"
#include "store/names.h"
#include "store/store_state.h"

#define LOST_INDEX \
	"the index was lost, so the use of this time is unknown; its ranges can be opened"

/* Lists a profile by the facts in its file's name. */
static int list_unlisted(struct store *s, const char *name)
{
	struct profile_file f;

	if (!profile_file_parse(name, &f) ||
	    index_number(s->db, "SELECT COUNT(*) FROM profiles WHERE id = ?", "i", f.id))
		return 0;
	struct stored facts = { .id = f.id,
				.events = xstrdup(f.event),
				.target = xstrdup(f.target),
				.source = xstrdup("recording"),
				.start_ns = f.start_ns,
				.size_bytes = file_size(s->profiles, name) };
	facts_read(s, name, &facts);
	int err = profiles_list_file(s, &facts, name);
	stored_fini(&facts);
	return err;
}

static int reconcile_profiles(struct store *s)
{
	struct name_list names = { 0 };
	VEC(u64) gone = { 0 };
	int err = dir_names(s->profiles, &names);

	vec_each(name, &names.all) {
		char file[FILE_NAME_BYTES];
		err = err ?: list_unlisted(s, *name);
		if (facts_file_parse(*name, file) && faccessat(s->profiles, file, F_OK, 0))
			facts_remove(s, file);
	}
	name_list_fini(&names);
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db, "SELECT id, file FROM profiles WHERE file <> ''", "");
	while (row && sqlite3_step(row) == SQLITE_ROW) {
		auto_free char *file = index_text(row, 1);
		auto_close int fd = file_get(s->profiles, file);
		if (fd == -ENOENT || fd == -ELOOP)
			vec_push(&gone, (u64)sqlite3_column_int64(row, 0));
	}
	vec_each(id, &gone)
		err = err ?: profiles_forget(s, *id);
	vec_fini(&gone);
	return err;
}

static int list_hour(struct store *s, const char *name)
{
	u64 hour;

	if (!hour_file_parse(name, &hour))
		return 0;
	if (!hour) /* from a machine whose clock was not set; the index has no hour 0 */
		return unlinkat(s->slices, name, 0) ? -errno : 0;
	int err = index_run(
		s->db,
		"INSERT OR IGNORE INTO pauses SELECT ?1 * ?2, '" LOST_INDEX "' WHERE ?1 NOT IN"
		" (SELECT hour FROM hours) UNION SELECT (?1 + 1) * ?2, '' WHERE ?1 NOT IN"
		" (SELECT hour FROM hours)",
		"ii", hour, (u64)HOUR_NS);
	return err
		       ?: index_run(s->db,
				    "INSERT INTO hours (hour, size_bytes, first_ns, is_sealed)"
				    " VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE"
				    " SET size_bytes = excluded.size_bytes",
				    "iii", hour, file_size(s->slices, name), hour * HOUR_NS);
}

static int check_hour(struct store *s, u64 hour, bool was_sealed)
{
	char name[FILE_NAME_BYTES];
	bool is_sealed = was_sealed;

	hour_file_name(hour, name);
	if (!file_size(s->slices, name))
		return slices_remove(s, hour);
	if (!was_sealed)
		slices_cut_tail(s, hour, &is_sealed);
	return index_run(s->db, "UPDATE hours SET is_sealed = ?, size_bytes = ? WHERE hour = ?",
			 "iii", (u64)is_sealed, file_size(s->slices, name), hour);
}

struct hour_entry {
	u64 hour;
	bool is_sealed;
};

static int reconcile_hours(struct store *s)
{
	struct name_list names = { 0 };
	VEC(struct hour_entry) hours = { 0 };
	int err = dir_names(s->slices, &names);

	vec_each(name, &names.all)
		err = err ?: list_hour(s, *name);
	name_list_fini(&names);
	err = err ?: index_run(s->db, "DELETE FROM hours WHERE hour = 0", "");
	auto_stmt sqlite3_stmt *row = index_ask(s->db, "SELECT hour, is_sealed FROM hours", "");
	while (row && sqlite3_step(row) == SQLITE_ROW)
		vec_push(&hours, (struct hour_entry){ (u64)sqlite3_column_int64(row, 0),
						      sqlite3_column_int(row, 1) != 0 });
	vec_each(h, &hours)
		err = err ?: check_hour(s, h->hour, h->is_sealed);
	vec_fini(&hours);
	/* Older versions kept these rows longer than the slices. */
	return err
		       ?: index_run(s->db,
				    "DELETE FROM uses WHERE time_ns / ? NOT IN (SELECT hour FROM "
				    "hours)",
				    "i", HOUR_NS)
			       ?: index_run(s->db,
					    "DELETE FROM coverage WHERE begin_ns / ? NOT IN"
					    " (SELECT hour FROM hours)",
					    "i", HOUR_NS);
}

int store_reconcile(struct store *s)
{
	dir_remove_temporary(s->dir);
	dir_remove_temporary(s->profiles);
	dir_remove_temporary(s->slices);
	int err = index_run(s->db, "BEGIN", "");
	if (!err)
		err = reconcile_profiles(s);
	if (!err)
		err = reconcile_hours(s);
	if (!err)
		err = index_run(s->db, "COMMIT", "");
	if (err) {
		index_run(s->db, "ROLLBACK", "");
		return err;
	}
	parts_clean(s);
	return 0;
}

u64 store_last_id(struct store *s)
{
	u64 last = index_number(s->db, "SELECT max(id) FROM profiles", "");
	u64 part = parts_last_id(s);
	auto_free char *text = NULL;
	size_t len;

	last = part > last ? part : last;
	auto_close int fd = file_get(s->dir, "ids");
	if (fd >= 0 && !file_load(fd, 64, &text, &len)) {
		text[len] = '\0';
		u64 id = strtoull(text, NULL, 10);
		last = id > last && id < INT64_MAX ? id : last;
	}
	return last;
}
