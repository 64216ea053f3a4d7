/* SPDX-License-Identifier: Apache-2.0 */
/* What a store keeps, and what its strip shows: limits of time, disk and services. */
#include "slices.h"

#include <errno.h>

#include "store/files.h"
#include "store/store_state.h"

#define LARGE_BYTES (2u << 20) /* the index is small beside profiles of that size */

/* Of a service whose name is the value. */
static int add_slice_of(struct store *s, struct slice_writer *w, u64 begin, u64 value)
{
	auto_free char *name = xasprintf("service-%llu", (unsigned long long)value);
	const struct store_use use = { "cpu", name, value };

	return add_record(s, w, begin, value, &use, 1);
}

/* A machine whose clock was not set yet; 0 means "no hour" in the index. */
static void slices_of_the_first_hour_of_1970_are_refused(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();

	assert_int_equal(add_slice(s, w, 5 * NS_PER_SEC, 5), -EINVAL);
	assert_int_equal(add_slice(s, w, HOUR_NS, 5), 0);
	assert_int_equal(store_size(s).oldest_slice_ns, HOUR_NS);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* Hours that the clock left behind when it was set back go before profiles. */
static void slices_of_the_future_make_room(void **state)
{
	const struct store_limits limits = { .max_disk_bytes = 1 };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 lost;

	assert_int_equal(add_slice(s, w, START_NS, 5), 0);
	assert_int_equal(add_slice(s, w, START_NS + DAY_NS, 5), 0);
	store_tick(s, START_NS + 60 * NS_PER_SEC);
	assert_int_equal(weight_of(s, START_NS, START_NS + 2 * DAY_NS, &lost), 5);
	assert_int_equal(store_size(s).oldest_slice_ns, START_NS);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

static void an_hour_that_is_removed_meanwhile_moves_no_other(void **state)
{
	const struct store_limits limits = { .max_disk_bytes = 1 };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 from = START_NS, end = START_NS + 3 * HOUR_NS;

	for (u64 hour = 0; hour < 3; hour++)
		assert_int_equal(add_slice(s, w, START_NS + hour * HOUR_NS, 5), 0);
	for (u64 hour = 0; hour < 3; hour++) {
		auto_close int fd = store_open_slices(s, &from, end);
		assert_true(fd >= 0);
		assert_int_equal(from, START_NS + (hour + 1) * HOUR_NS);
		store_tick(s, end - HOUR_NS); /* the limit takes the oldest hour */
	}
	assert_int_equal(store_open_slices(s, &from, end), -ENOENT);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

static void tick_at(struct store *s, u64 now, u64 boot)
{
	store_watch_clock(s, now, boot);
	store_tick(s, now);
}

/* The clock is ahead for some minutes, then for good. */
static void a_clock_that_was_set_removes_nothing_for_an_hour(void **state)
{
	const struct store_limits limits = { .keep_10s_ns = DAY_NS, .keep_10min_ns = 20 * DAY_NS };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 now = START_NS + HOUR_NS + 600 * NS_PER_SEC, ahead = now + 40 * DAY_NS;
	u64 boot = 1000 * NS_PER_SEC, lost;
	struct store_thinning t;

	assert_int_equal(add_slice(s, w, START_NS, 5), 0);
	tick_at(s, now, boot);
	for (int i = 0; i < 2; i++) {
		tick_at(s, ahead, boot += NS_PER_SEC);
		tick_at(s, ahead, boot);
		assert_false(store_thinning_due(s, ahead, &t));
		assert_int_equal(weight_of(s, START_NS, ahead, &lost), 5);
		tick_at(s, now, boot += 600 * NS_PER_SEC);
		assert_int_equal(weight_of(s, START_NS, ahead, &lost), 5);
	}
	tick_at(s, ahead, boot += NS_PER_SEC);
	tick_at(s, ahead + HOUR_NS / 2, boot += HOUR_NS / 2);
	assert_int_equal(weight_of(s, START_NS, ahead, &lost), 5);
	tick_at(s, ahead + HOUR_NS, boot += HOUR_NS / 2);
	assert_int_equal(weight_of(s, START_NS, ahead, &lost), 0);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

static void a_start_long_after_the_newest_slice_removes_nothing_for_an_hour(void **state)
{
	const struct store_limits limits = { .keep_10min_ns = 20 * DAY_NS };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 now = START_NS + 30 * DAY_NS, boot = 1000 * NS_PER_SEC, lost;

	assert_int_equal(add_slice(s, w, START_NS, 5), 0);
	assert_int_equal(add_slice(s, w, now - 2 * DAY_NS, 5), 0);
	tick_at(s, now, boot);
	assert_int_equal(weight_of(s, START_NS, now, &lost), 10);
	tick_at(s, now + HOUR_NS, boot + HOUR_NS);
	assert_int_equal(weight_of(s, START_NS, now, &lost), 5);
	store_close(s);

	/* A suspend is no step, and the limit of the disk needs no clock. */
	s = open_with(&p, &limits);
	tick_at(s, now - 2 * DAY_NS, boot);
	tick_at(s, now + 20 * DAY_NS, boot + 22 * DAY_NS);
	assert_int_equal(weight_of(s, START_NS, now, &lost), 0);
	assert_int_equal(add_slice(s, w, now, 5), 0);
	store_close(s);
	s = open_with(&p, &(struct store_limits){ .max_disk_bytes = 1 });
	tick_at(s, now + 2 * DAY_NS, boot);
	assert_int_equal(weight_of(s, START_NS, now + HOUR_NS, &lost), 0);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* Programs choose the names of services. */
static void a_strip_has_the_largest_services_only(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();
	const struct store_strip_query q = { START_NS, START_NS + 3600 * NS_PER_SEC, "cpu", 10 };
	struct store_strip strip;

	for (u64 i = 0; i < 300; i++)
		assert_int_equal(add_slice_of(s, w, START_NS + i * SLICE_NS, i + 1), 0);
	assert_int_equal(store_strip(s, &q, &strip), 0);
	assert_int_equal(strip.series.nr, STORE_SERIES_MAX);
	assert_int_equal(strip.nr_left_out, 300 - STORE_SERIES_MAX);
	assert_int_equal(strip.series.at[0].total, 300);
	assert_int_equal(strip.series.at[STORE_SERIES_MAX - 1].total, 101);
	store_strip_fini(&strip);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

static void profiles_do_not_take_the_room_of_slices(void **state)
{
	const struct store_limits limits = { .max_disk_bytes = 2 * LARGE_BYTES + LARGE_BYTES / 2 };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	auto_free char *bytes = xmalloc(LARGE_BYTES + 1);
	struct stored got;
	u64 ids[4], lost, now = START_NS + 5 * HOUR_NS;

	memset(bytes, 'x', LARGE_BYTES);
	bytes[LARGE_BYTES] = '\0';
	for (int i = 0; i < 4; i++)
		ids[i] = add_profile(s, bytes);
	s->limits.max_disk_bytes = 1 << 30; /* for the pin */
	assert_int_equal(store_pin(s, ids[0], true), 0);
	s->limits = limits;
	assert_int_equal(store_pin(s, ids[1], true), -EDQUOT);
	for (u64 hour = 0; hour < 3; hour++)
		assert_int_equal(add_slice(s, w, START_NS + hour * HOUR_NS, 1), 0);
	for (int i = 0; i < 20; i++)
		store_tick(s, now);
	assert_int_equal(weight_of(s, START_NS, now, &lost), 3);
	assert_int_equal(nr_listed(s, ""), 2);
	assert_int_equal(store_get(s, ids[0], &got), 0);
	stored_fini(&got);
	assert_int_equal(store_get(s, ids[2], &got), -ENOENT);
	assert_int_equal(store_size(s).profile_bytes, 2 * LARGE_BYTES);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* The pages of the index that were looked at, in memory or on disk. */
static int pages_used(struct store *s)
{
	int hits, misses, unused;

	sqlite3_db_status(s->db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &unused, false);
	sqlite3_db_status(s->db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &unused, false);
	return hits + misses;
}

static void only_a_change_has_all_profiles_counted(void **state)
{
	enum {
		PROFILES = 100,
		TICKS = 10
	};
	const struct store_limits limits = { .max_disk_bytes = 1 << 30 };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	char summary[20000]; /* more than four pages */
	u64 deleted = 7;

	memset(summary, 'x', sizeof(summary) - 1);
	summary[sizeof(summary) - 1] = '\0';
	for (u64 i = 0; i < PROFILES; i++) {
		struct stored facts = facts_of(store_new_id(s));
		facts.summary = summary;
		assert_int_equal(store_add(s, &facts, "bytes", 5), 0);
	}
	store_tick(s, START_NS);
	int before = pages_used(s);
	for (int i = 0; i < TICKS; i++)
		store_tick(s, START_NS);
	for (int i = 0; i < TICKS; i++)
		assert_int_equal(store_size(s).profile_bytes, 5 * PROFILES);
	assert_true(pages_used(s) - before < 4 * PROFILES);

	assert_int_equal(store_delete(s, deleted), 0);
	assert_int_equal(store_size(s).nr_profiles, PROFILES - 1);
	assert_int_equal(store_size(s).profile_bytes, 5 * PROFILES);
	assert_int_equal(store_restore(s, deleted), 0);
	assert_int_equal(store_size(s).nr_profiles, PROFILES);
	assert_int_equal(store_delete(s, deleted), 0);
	store_tick(s, time_wall_ns() + 2 * STORE_UNDO_NS);
	assert_int_equal(store_size(s).profile_bytes, 5 * (PROFILES - 1));
	add_profile(s, "one more");
	assert_int_equal(store_size(s).profile_bytes, 5 * (PROFILES - 1) + 8);
	store_close(s);
	remove_place(&p);
}

/* Each removal has the rest counted again: by an index, not by reading rows of 4 KB. */
static void ten_thousand_profiles_beside_a_full_quota_go_one_by_one(void **state)
{
	enum {
		PROFILES = 10000,
		TICKS = 20
	};
	struct place p = new_place();
	struct store *s = open_store(&p);
	char summary[4000];

	memset(summary, 'x', sizeof(summary) - 1);
	summary[sizeof(summary) - 1] = '\0';
	for (u64 i = 0; i < PROFILES; i++) {
		struct stored facts = facts_of(i + 1);
		facts.summary = summary;
		assert_int_equal(store_add(s, &facts, NULL, 0), 0);
	}
	assert_int_equal(index_run(s->db, "UPDATE profiles SET size_bytes = 100000", ""), 0);
	s->limits.max_disk_bytes = 100 << 20;
	store_tick(s, START_NS);
	int before = pages_used(s);
	for (int i = 0; i < TICKS; i++)
		store_tick(s, START_NS);
	assert_true((pages_used(s) - before) / TICKS < PROFILES / 20);
	assert_int_equal(store_size(s).nr_profiles, PROFILES - TICKS - 1);
	store_close(s);
	remove_place(&p);
}

static u64 total_of(struct store *s, u64 from, u64 to)
{
	const struct store_strip_query q = { from, to, "cpu", 10 };
	struct store_strip strip;
	u64 total = 0;

	assert_int_equal(store_strip(s, &q, &strip), 0);
	vec_each(series, &strip.series)
		total += series->total;
	store_strip_fini(&strip);
	return total;
}

static void the_use_of_services_goes_with_the_slices(void **state)
{
	const struct store_limits limits = { .max_disk_bytes = 1 };
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();
	u64 end = START_NS + 4 * HOUR_NS;

	for (u64 hour = 0; hour < 4; hour++)
		assert_int_equal(add_slice(s, w, START_NS + hour * HOUR_NS, 5), 0);
	assert_int_equal(total_of(s, START_NS, end), 4 * 20);
	store_close(s);

	/* A file disappears while no store is open. */
	auto_free char *path = xasprintf("%s/slices/20251120_13.sfls", p.path);
	assert_int_equal(unlink(path), 0);
	s = open_with(&p, &limits);
	assert_int_equal(total_of(s, START_NS, end), 3 * 20);
	store_tick(s, end - HOUR_NS); /* the limit takes the oldest hour */
	assert_int_equal(total_of(s, START_NS, end), 2 * 20);
	assert_int_equal(total_of(s, START_NS, START_NS + HOUR_NS), 0);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* Many services in hours that are removed: the limit holds for the index as well. */
static void the_disk_limit_counts_the_index_which_shrinks(void **state)
{
	enum {
		USES = 2000,
		HOURS = 30
	};
	const struct store_limits limits = { .max_disk_bytes = 1 };
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();
	static struct store_use uses[USES];
	static char names[USES][24];
	struct profile *none = profile_new();
	bool begins;

	for (int i = 0; i < USES; i++) {
		snprintf(names[i], sizeof(names[i]), "service-%d", i);
		uses[i] = (struct store_use){ "cpu", names[i], 1 };
	}
	for (u64 hour = 0; hour < HOURS; hour++) {
		auto_str struct str record = { 0 };
		u64 at = START_NS + hour * HOUR_NS;
		assert_int_equal(slice_writer_add(w, none, at, at + SLICE_NS, &record, &begins), 0);
		assert_int_equal(
			store_add_slice(s, record.at, record.len, at, at + SLICE_NS, uses, USES),
			0);
	}
	u64 size = store_size(s).index_bytes;
	assert_true(size > 1000000);
	store_close(s);
	s = open_with(&p, &limits);
	for (int i = 0; i < HOURS; i++)
		store_tick(s, START_NS + HOURS * HOUR_NS);
	store_tick(s, START_NS + (HOURS + 1) * HOUR_NS); /* the upkeep */
	assert_int_equal(store_size(s).slice_bytes, 0);
	assert_true(store_size(s).index_bytes < size / 2);
	store_close(s);
	assert_true(file_size(p.dir, "index.db") < size / 2);
	slice_writer_free(w);
	profile_free(none);
	remove_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_of_the_first_hour_of_1970_are_refused),
		cmocka_unit_test(slices_of_the_future_make_room),
		cmocka_unit_test(an_hour_that_is_removed_meanwhile_moves_no_other),
		cmocka_unit_test(a_clock_that_was_set_removes_nothing_for_an_hour),
		cmocka_unit_test(a_start_long_after_the_newest_slice_removes_nothing_for_an_hour),
		cmocka_unit_test(a_strip_has_the_largest_services_only),
		cmocka_unit_test(profiles_do_not_take_the_room_of_slices),
		cmocka_unit_test(only_a_change_has_all_profiles_counted),
		cmocka_unit_test(ten_thousand_profiles_beside_a_full_quota_go_one_by_one),
		cmocka_unit_test(the_use_of_services_goes_with_the_slices),
		cmocka_unit_test(the_disk_limit_counts_the_index_which_shrinks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
