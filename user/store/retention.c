/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes, thins and seals what is due. Part of store/store.h. */
#include <errno.h>

#include "base/file.h"
#include "store/files.h"
#include "store/store_state.h"

#define SEAL_AFTER_NS (60 * NS_PER_SEC)
#define SEAL_AGAIN_NS (60 * NS_PER_SEC)
#define UPKEEP_NS     (600 * NS_PER_SEC)
#define AUDIT_NS      (90 * 24 * HOUR_NS)
#define PURGED_MAX    8 /* at once */
#define SYNC_NS       (60 * NS_PER_SEC)
#define MINUTE_NS     (60 * NS_PER_SEC)
#define COMPACT_BYTES (1u << 20)     /* free bytes from which compacting is worth the work */
#define STEP_NS       HOUR_NS        /* a larger step of the clock makes ages wrong */
#define SETTLE_NS     HOUR_NS        /* without such a step, until ages are trusted again */
#define OFF_NS        (24 * HOUR_NS) /* of the daemon */

/* Bytes of the index's pages. */
#define PAGES(number)     \
	"SELECT (" number \
	") * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"

/* Free pages are used again, or given back by compact_index. */
static u64 index_bytes(struct store *s)
{
	return index_number(s->db, PAGES("page_count - freelist_count"), "") +
	       file_size(s->dir, "index.db-wal");
}

struct store_size store_size(struct store *s)
{
	profiles_sum(s);
	return (struct store_size){
		.profile_bytes = s->profile_bytes,
		.slice_bytes = index_number(s->db, "SELECT sum(size_bytes) FROM hours", ""),
		.nr_profiles = s->nr_profiles,
		.index_bytes = index_bytes(s),
		.oldest_slice_ns =
			index_number(s->db, "SELECT first_ns FROM hours ORDER BY hour LIMIT 1", ""),
	};
}

/* now - age, or 0. */
static u64 before(u64 now_ns, u64 age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 0;
}

/* Removes deleted profiles again whose removal failed because the disk was full. */
static void purge_gone(struct store *s)
{
	for (int i = 0; i < PURGED_MAX; i++) {
		u64 id = index_number(s->db, "SELECT id FROM gone LIMIT 1", "");
		if (!id || profiles_remove(s, id))
			return;
	}
}

static void purge_deleted(struct store *s, u64 now_ns)
{
	for (int i = 0; i < PURGED_MAX; i++) {
		u64 id = index_number(s->db,
				      "SELECT id FROM profiles WHERE deleted_ns > 0"
				      " AND deleted_ns <= ? LIMIT 1",
				      "i", before(now_ns, STORE_UNDO_NS));
		if (!id || profiles_remove(s, id))
			return;
	}
}

/*
 * Uploads and recordings must not take the past: slices make room only beyond their part of the
 * limit, or if no profile can go. Those of the current hour stay. Hours of the future are from
 * before the clock was set back.
 */
static void keep_disk(struct store *s, u64 now_ns)
{
	/* Check only if the index has changed: everything that takes room changes it. */
	int changes = sqlite3_total_changes(s->db);

	if (!s->limits.max_disk_bytes || changes == s->fits_at)
		return;
	struct store_size size = store_size(s);
	if (size.profile_bytes + size.slice_bytes + size.index_bytes <= s->limits.max_disk_bytes) {
		s->fits_at = changes;
		return;
	}
	u64 hour = index_number(s->db, "SELECT min(hour) FROM hours WHERE hour <> ?", "i",
				now_ns / HOUR_NS);
	u64 id = index_number(s->db, "SELECT min(id) FROM profiles WHERE pinned = 0 AND " NOT_GONE,
			      "");
	bool has_much = size.slice_bytes > s->limits.max_disk_bytes / STORE_SLICES_PART;
	if (hour && (has_much || !id))
		slices_remove(s, hour);
	else if (id)
		profiles_remove(s, id);
}

static void drop_old_slices(struct store *s, u64 now_ns)
{
	if (!s->limits.keep_10min_ns)
		return;
	/* The whole hour must be old. */
	u64 end = before(now_ns, s->limits.keep_10min_ns) / HOUR_NS;
	u64 hour = index_number(s->db, "SELECT min(hour) FROM hours WHERE hour < ?", "i", end);
	if (hour)
		slices_remove(s, hour);
}

static void seal_one(struct store *s, u64 now_ns)
{
	u64 hour = index_number(s->db,
				"SELECT hour FROM hours WHERE is_sealed = 0 AND hour < ?"
				" ORDER BY hour LIMIT 1",
				"i", before(now_ns, SEAL_AFTER_NS) / HOUR_NS);

	if (!hour || time_mono_ns() < s->seal_after_ns)
		return;
	int err = slices_seal(s, hour);
	if (err == -ENOENT)
		err = slices_remove(s, hour);
	/*
	 * Count a file that is too large or unreadable as sealed, so that other files are sealed.
	 */
	if (err == -EFBIG || file_is_unreadable(err))
		err = index_run(s->db, "UPDATE hours SET is_sealed = 1 WHERE hour = ?", "i", hour);
	s->seal_after_ns = err ? time_mono_ns() + SEAL_AGAIN_NS : 0;
}

/*
 * Replaces the rows of `uses` in [from, end) by one sum for each step, event and service. `from`
 * and `end` are multiples of the step.
 */
static int add_up(struct store *s, u64 from_ns, u64 end_ns, u64 step_ns)
{
	int err = index_run(s->db,
			    "CREATE TEMP TABLE thinned AS SELECT time_ns / ?1 * ?1 AS time_ns,"
			    " event, service, sum(value) AS value FROM uses"
			    " WHERE time_ns >= ?2 AND time_ns < ?3 GROUP BY 1, 2, 3",
			    "iii", step_ns, from_ns, end_ns);
	if (!err)
		err = index_run(s->db, "DELETE FROM uses WHERE time_ns >= ? AND time_ns < ?", "ii",
				from_ns, end_ns);
	if (!err)
		err = index_run(s->db,
				"INSERT INTO uses (time_ns, event, service, value)"
				" SELECT time_ns, event, service, value FROM thinned",
				"");
	err = err ?: index_run(s->db, "DROP TABLE temp.thinned", "");
	return err ?: covered_thin(s, from_ns, end_ns, step_ns);
}

/* Thins the use that is older than `end_ns` and not yet thinned. */
static void thin_uses(struct store *s, u64 end_ns, u64 step_ns)
{
	end_ns -= end_ns % step_ns;
	u64 from_ns = index_number(s->db,
				   "SELECT min(time_ns) FROM uses WHERE time_ns < ?"
				   " AND time_ns % ? <> 0",
				   "ii", end_ns, step_ns);
	if (!from_ns || index_run(s->db, "BEGIN", ""))
		return;
	int err = add_up(s, from_ns - from_ns % step_ns, end_ns, step_ns);
	if (err || index_run(s->db, "COMMIT", ""))
		index_run(s->db, "ROLLBACK", "");
}

/* Gives pages back once a quarter of them is free. */
static void compact_index(struct store *s)
{
	u64 free_bytes = index_number(s->db, PAGES("freelist_count"), "");

	if (free_bytes < COMPACT_BYTES ||
	    free_bytes * 4 < index_number(s->db, PAGES("page_count"), ""))
		return;
	/* After VACUUM the journal holds the whole index: truncate it. */
	if (!index_run(s->db, "VACUUM", ""))
		index_run(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", "");
}

static void upkeep(struct store *s, u64 now_ns)
{
	const struct store_limits *l = &s->limits;
	u64 minutes = before(now_ns, l->keep_10s_ns), tens = before(now_ns, l->keep_1min_ns);

	if (l->keep_1min_ns)
		thin_uses(s, tens, 10 * MINUTE_NS);
	if (l->keep_10s_ns)
		thin_uses(s, minutes, MINUTE_NS);
	u64 old_ns = l->keep_10min_ns ? before(now_ns, l->keep_10min_ns) : 0;
	index_run(s->db, "DELETE FROM uses WHERE time_ns < ?", "i", old_ns);
	covered_upkeep(s, old_ns);
	index_run(s->db, "DELETE FROM services WHERE id NOT IN (SELECT service FROM uses)", "");
	index_run(s->db, "DELETE FROM audit WHERE at_ns < ?", "i", before(now_ns, AUDIT_NS));
	compact_index(s);
}

static void keep_ages(struct store *s, u64 now_ns)
{
	purge_deleted(s, now_ns);
	drop_old_slices(s, now_ns);
	/* Also run if the clock stepped back. */
	if (now_ns < s->upkept_ns || now_ns - s->upkept_ns >= UPKEEP_NS) {
		s->upkept_ns = now_ns;
		upkeep(s, now_ns);
	}
}

/* Whether the newest slice is too old for a daemon that was off for a while. */
static bool is_late(struct store *s, u64 now_ns)
{
	/* Hours of the future are from before the clock was set back. */
	u64 hour = index_number(s->db, "SELECT max(hour) FROM hours WHERE hour <= ?", "i",
				now_ns / HOUR_NS);

	return hour && now_ns - hour * HOUR_NS > OFF_NS;
}

bool store_watch_clock(struct store *s, u64 now_ns, u64 boot_ns)
{
	u64 expected_ns = s->watched_wall_ns + (boot_ns - s->watched_boot_ns);
	u64 step_ns = now_ns > expected_ns ? now_ns - expected_ns : expected_ns - now_ns;
	bool was_set = s->watched_wall_ns ? step_ns > STEP_NS : is_late(s, now_ns);

	if (was_set)
		s->settles_boot_ns = boot_ns + SETTLE_NS;
	s->is_unsettled = boot_ns < s->settles_boot_ns;
	s->watched_wall_ns = now_ns;
	s->watched_boot_ns = boot_ns;
	return was_set;
}

void store_tick(struct store *s, u64 now_ns)
{
	if (!s->is_unsettled)
		keep_ages(s, now_ns);
	purge_gone(s);
	keep_disk(s, now_ns);
	seal_one(s, now_ns);
	if (s->is_unsynced && time_mono_ns() - s->synced_ns >= SYNC_NS)
		slices_sync(s);
}
