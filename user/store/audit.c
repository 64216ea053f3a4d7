/* SPDX-License-Identifier: Apache-2.0 */
/* The audit list and people's settings. Part of store/store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_state.h"

#define TEXT_MAX    4096       /* bytes of an entry */
#define SETTING_MAX (1u << 20) /* bytes */
#define KEY_MAX     256        /* bytes */
#define ENTRIES_MAX 100000ull

u64 store_audit(struct store *s, const char *who, const char *what)
{
	char *text = xstrndup(what, TEXT_MAX);
	u64 at_ns = time_wall_ns();

	index_run(s->db, "INSERT INTO audit (at_ns, who, what) VALUES (?, ?, ?)", "itt", at_ns, who,
		  text);
	index_run(s->db, "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?", "i",
		  ENTRIES_MAX);
	free(text);
	return at_ns;
}

void store_audit_bound(struct store *s, const char *prefix, u64 most)
{
	index_run(s->db,
		  "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE "
		  "substr(what, 1, length(?1)) = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)",
		  "ti", prefix, most);
}

int store_audit_read(struct store *s, u64 max, struct store_audit_list *out)
{
	struct store_audit_list list = { 0 };
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db, "SELECT at_ns, who, what FROM audit ORDER BY id DESC LIMIT ?", "i",
			  max > INT64_MAX ? INT64_MAX : max);
	int result = row ? SQLITE_ROW : sqlite3_errcode(s->db);

	while (row && (result = sqlite3_step(row)) == SQLITE_ROW)
		vec_push(&list.list,
			 (struct store_audit_entry){ (u64)sqlite3_column_int64(row, 0),
						     index_text(row, 1), index_text(row, 2) });
	int err = index_error(s->db, result);
	if (err)
		store_audit_list_fini(&list);
	else
		*out = list;
	return err;
}

void store_audit_list_fini(struct store_audit_list *l)
{
	vec_each(entry, &l->list) {
		free(entry->who);
		free(entry->what);
	}
	vec_fini(&l->list);
}

char *store_setting(struct store *s, const char *key)
{
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db, "SELECT json FROM settings WHERE key = ?", "t", key);

	return row && sqlite3_step(row) == SQLITE_ROW ? index_text(row, 0) : NULL;
}

int store_set_setting(struct store *s, const char *key, const char *json)
{
	if (strlen(key) > KEY_MAX || strlen(json) > SETTING_MAX)
		return -E2BIG;
	return index_run(s->db, "INSERT OR REPLACE INTO settings (key, json) VALUES (?, ?)", "tt",
			 key, json);
}
