/* SPDX-License-Identifier: Apache-2.0 */
/* The time that has slices, and why other time has none. Part of store/store_slices.h. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "store/store_state.h"

/* a reason for a gap may be noted this long before the last slice ends */
#define EARLY_NS    (30 * NS_PER_SEC)
#define REASONS_MAX 1000

int covered_add(struct store *s, u64 begin_ns, u64 end_ns)
{
	/* After the clock was set back, there may be two slices of the same time. */
	return index_run(s->db,
			 "INSERT INTO coverage (begin_ns, end_ns, covered_ns) VALUES (?1, ?2, ?3)"
			 " ON CONFLICT DO UPDATE SET end_ns = max(end_ns, excluded.end_ns),"
			 " covered_ns = covered_ns + excluded.covered_ns",
			 "iii", begin_ns, end_ns, end_ns - begin_ns);
}

int covered_thin(struct store *s, u64 from_ns, u64 end_ns, u64 step_ns)
{
	int err = index_run(s->db,
			    "CREATE TEMP TABLE longer AS SELECT min(begin_ns) AS begin_ns,"
			    " max(end_ns) AS end_ns, sum(covered_ns) AS covered_ns FROM coverage"
			    " WHERE begin_ns >= ?2 AND begin_ns < ?3 GROUP BY begin_ns / ?1",
			    "iii", step_ns, from_ns, end_ns);

	err = err
		      ?: index_run(s->db,
				   "DELETE FROM coverage WHERE begin_ns >= ? AND begin_ns < ?",
				   "ii", from_ns, end_ns);
	err = err ?: index_run(s->db, "INSERT INTO coverage SELECT * FROM longer", "");
	return err ?: index_run(s->db, "DROP TABLE temp.longer", "");
}

int covered_forget(struct store *s, u64 from_ns, u64 end_ns)
{
	return index_run(s->db, "DELETE FROM coverage WHERE begin_ns >= ? AND begin_ns < ?", "ii",
			 from_ns, end_ns);
}

int covered_upkeep(struct store *s, u64 old_ns)
{
	int err = index_run(s->db, "DELETE FROM coverage WHERE begin_ns < ?", "i", old_ns);

	return err
		       ?: index_run(s->db,
				    "DELETE FROM pauses WHERE at_ns NOT IN"
				    " (SELECT at_ns FROM pauses ORDER BY at_ns DESC LIMIT ?)",
				    "i", (u64)REASONS_MAX);
}

/* The first text of a query, NULL if it has no row. */
static char *first_text(struct store *s, const char *sql, u64 a, u64 b)
{
	auto_stmt sqlite3_stmt *row = index_ask(s->db, sql, "ii", a, b);

	return row && sqlite3_step(row) == SQLITE_ROW ? index_text(row, 0) : NULL;
}

int store_note_pause(struct store *s, u64 at_ns, const char *why)
{
	auto_free char *last =
		first_text(s, "SELECT why FROM pauses ORDER BY at_ns DESC LIMIT 1", 0, 0);

	if (!strcmp(last ?: "", why))
		return 0;
	return index_run(s->db, "INSERT OR REPLACE INTO pauses (at_ns, why) VALUES (?, ?)", "it",
			 at_ns, why);
}

u64 store_covered_until(struct store *s)
{
	return index_number(s->db, "SELECT end_ns FROM coverage ORDER BY begin_ns DESC LIMIT 1",
			    "");
}

static char *why_of(struct store *s, u64 from_ns, u64 to_ns)
{
	char *why = first_text(s,
			       "SELECT why FROM pauses WHERE at_ns >= ? AND at_ns < ?"
			       " AND why <> '' ORDER BY at_ns LIMIT 1",
			       from_ns > EARLY_NS ? from_ns - EARLY_NS : 0, to_ns);

	if (!why)
		why = first_text(
			s, "SELECT why FROM pauses WHERE at_ns < ?1 ORDER BY at_ns DESC LIMIT 1",
			from_ns, 0);
	return why ?: xstrdup("");
}

/* The begin of a time without slices may be before the range. */
static void add_gap(struct store *s, u64 from_ns, u64 to_ns, struct store_coverage *out)
{
	if (to_ns < from_ns + STORE_GAP_NS)
		return;
	u64 since_ns =
		from_ns > out->from_ns
			? from_ns
			: index_number(s->db, "SELECT max(end_ns) FROM coverage WHERE begin_ns < ?",
				       "i", from_ns);
	const struct store_gap gap = { from_ns, to_ns, since_ns, why_of(s, from_ns, to_ns) };
	vec_push(&out->gaps, gap);
}

int store_coverage(struct store *s, u64 from_ns, u64 to_ns, struct store_coverage *out)
{
	struct store_coverage c = { .from_ns = from_ns };
	auto_stmt sqlite3_stmt *row =
		index_ask(s->db,
			  "SELECT begin_ns, end_ns, covered_ns FROM coverage"
			  " WHERE begin_ns >= ? AND begin_ns < ? ORDER BY begin_ns",
			  "ii", from_ns, to_ns);
	int result = row ? SQLITE_ROW : sqlite3_errcode(s->db);
	u64 end = from_ns;

	while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
		u64 begin = (u64)sqlite3_column_int64(row, 0);
		u64 own_end = (u64)sqlite3_column_int64(row, 1);
		c.covered_ns += (u64)sqlite3_column_int64(row, 2);
		if (begin > end && c.gaps.nr < STORE_GAPS_MAX)
			add_gap(s, end, begin, &c);
		end = own_end > end ? own_end : end;
	}
	if (to_ns > end)
		add_gap(s, end, to_ns, &c);
	int err = index_error(s->db, result);
	if (err)
		store_coverage_fini(&c);
	else
		*out = c;
	return err;
}

void store_coverage_fini(struct store_coverage *c)
{
	vec_each(gap, &c->gaps)
		free(gap->why);
	vec_fini(&c->gaps);
}
