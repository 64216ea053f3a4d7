/* SPDX-License-Identifier: Apache-2.0 */
/* The store's profiles, parts, and texts. */
#include "stores.h"

#include <errno.h>
#include <sys/stat.h>

#include <sqlite3.h>

static void a_profile_is_kept_with_its_facts(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	u64 id = add_profile(s, "bytes");
	struct stored got;

	store_close(s);
	s = open_store(&p);
	assert_int_equal(store_get(s, id, &got), 0);
	assert_string_equal(got.name, "a recording");
	assert_string_equal(got.target, "checkout/7 prod");
	assert_string_equal(got.error, "");
	assert_int_equal(got.samples, 1009);
	assert_int_equal(got.size_bytes, 5);
	assert_int_equal(got.state, STORED_COMPLETE);
	stored_fini(&got);
	assert_content(store_open_file(s, id), "bytes");
	auto_free char *name = xasprintf(
		"%s/profiles/20251120_120000-%d-cpu_alloc-checkout_7_prod.sflm", p.path, (int)id);
	assert_int_equal(access(name, R_OK), 0);
	assert_int_equal(store_get(s, id + 1, &got), -ENOENT);
	assert_int_equal(store_open_file(s, id + 1), -ENOENT);
	store_close(s);
	remove_place(&p);
}

static void a_failed_recording_is_listed_without_a_file(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct stored facts = facts_of(store_new_id(s));

	facts.state = STORED_FAILED;
	facts.error = "the target ended";
	assert_int_equal(store_add(s, &facts, NULL, 0), 0);
	assert_int_equal(store_open_file(s, facts.id), -ENOENT);
	store_close(s);
	s = open_store(&p);
	assert_int_equal(nr_listed(s, ""), 1);
	store_close(s);
	remove_place(&p);
}

static void ids_ascend_and_are_never_used_again(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	u64 last = store_new_id(s);

	for (int i = 0; i < 3; i++) {
		u64 id = store_new_id(s);
		assert_true(id > last);
		last = id;
	}
	store_close(s);
	assert_int_equal(unlinkat(p.dir, "index.db", 0), 0);
	s = open_store(&p);
	assert_true(store_new_id(s) > last);
	store_close(s);
	remove_place(&p);
}

static void lists_are_newest_first_in_pages_and_by_words(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct stored_list list;
	u64 ids[5];

	for (int i = 0; i < 5; i++) {
		ids[i] = store_new_id(s);
		struct stored facts = facts_of(ids[i]);
		facts.start_ns -= i * DAY_NS; /* the clock steps back */
		facts.name = i % 2 ? "Morning 100%" : "evening";
		assert_int_equal(store_add(s, &facts, "x", 1), 0);
	}
	assert_int_equal(store_list(s, NULL, 1, 2, &list), 0);
	assert_int_equal(list.nr_all, 5);
	assert_int_equal(list.list.nr, 2);
	assert_int_equal(list.list.at[0].id, ids[3]);
	assert_int_equal(list.list.at[1].id, ids[2]);
	stored_list_fini(&list);
	assert_int_equal(nr_listed(s, "morning"), 2);
	assert_int_equal(nr_listed(s, "100%  checkout"), 2);
	assert_int_equal(nr_listed(s, "morning evening"), 0);
	assert_int_equal(nr_listed(s, "%"), 2);
	store_close(s);
	remove_place(&p);
}

static void profiles_without_their_file_are_not_restored(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	u64 lost = add_profile(s, "lost"), nr, undo;
	auto_free char *file = xasprintf(
		"%s/profiles/20251120_120000-%d-cpu_alloc-checkout_7_prod.sflm", p.path, (int)lost);

	add_profile(s, "there");
	assert_int_equal(store_delete_all(s, &nr, &undo), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(store_restore_all(s, undo, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(nr_listed(s, ""), 1);
	store_close(s);
	remove_place(&p);
}

static void a_deleted_profile_can_be_restored_for_a_while(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	u64 kept = add_profile(s, "kept"), gone = add_profile(s, "gone");
	u64 pinned = add_profile(s, "pinned"), now = time_wall_ns(), nr, undo;

	assert_int_equal(store_pin(s, pinned, true), 0);
	assert_int_equal(store_delete_all(s, &nr, &undo), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(nr_listed(s, ""), 1);
	assert_int_equal(store_restore_all(s, undo, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(nr_listed(s, ""), 3);
	assert_int_equal(store_restore_all(s, undo, &nr), -ENOENT);
	assert_int_equal(store_restore_all(s, 0, &nr), -ENOENT);
	assert_int_equal(store_delete_all(s, &nr, &undo), 0);
	assert_int_equal(nr, 2);
	store_tick(s, now + STORE_UNDO_NS / 2);
	assert_int_equal(store_restore(s, kept), 0);
	store_tick(s, now + 2 * STORE_UNDO_NS);
	assert_int_equal(store_restore(s, gone), -ENOENT);
	assert_int_equal(store_delete(s, gone), -ENOENT);
	assert_int_equal(nr_listed(s, ""), 2);
	assert_content(store_open_file(s, kept), "kept");
	assert_int_equal(store_rename(s, kept, "renamed"), 0);
	assert_int_equal(store_rename(s, gone, "renamed"), -ENOENT);
	assert_int_equal(nr_listed(s, "renamed"), 1);
	assert_int_equal(store_size(s).nr_profiles, 2);
	store_close(s);
	remove_place(&p);
}

static void a_lost_or_damaged_index_is_made_from_the_files(void **state)
{
	for (int damaged = 0; damaged < 2; damaged++) {
		struct place p = new_place();
		struct store *s = open_store(&p);
		u64 first = add_profile(s, "first"), second = add_profile(s, "second");
		struct stored got;

		store_close(s);
		assert_int_equal(unlinkat(p.dir, "index.db", 0), 0);
		if (damaged) {
			auto_close int fd = openat(p.dir, "index.db", O_WRONLY | O_CREAT, 0600);
			assert_int_equal(write(fd, "SQLite format 3, or is it?", 26), 26);
		}
		s = open_store(&p);
		assert_int_equal(nr_listed(s, ""), 2);
		assert_int_equal(store_get(s, first, &got), 0);
		assert_string_equal(got.events, "cpu,alloc");
		assert_string_equal(got.target, "checkout/7 prod");
		assert_int_equal(got.start_ns, START_NS);
		assert_int_equal(got.size_bytes, 5);
		stored_fini(&got);
		assert_content(store_open_file(s, second), "second");
		assert_true(store_new_id(s) > second);
		store_close(s);
		remove_place(&p);
	}
}

static off_t bad_sector; /* 0: none */

static ssize_t read_beside_the_bad_sector(int fd, void *buf, size_t nr, off_t at)
{
	if (bad_sector && at <= bad_sector && bad_sector < at + (off_t)nr) {
		errno = EIO;
		return -1;
	}
	return pread(fd, buf, nr, at);
}

/* SQLite reads the whole index at the start, also the end of a summary. */
static void a_read_error_does_not_discard_the_index(void **state)
{
	static const char *const calls[] = { "pread", "pread64" };
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct stored facts = facts_of(store_new_id(s)), got;
	auto_str struct str why = { 0 };
	char summary[20000];
	struct stat st;

	memset(summary, 'x', sizeof(summary) - 1);
	summary[sizeof(summary) - 1] = '\0';
	facts.summary = summary;
	facts.pinned = true;
	assert_int_equal(store_add(s, &facts, "bytes", 5), 0);
	store_close(s);
	assert_int_equal(fstatat(p.dir, "index.db", &st, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		vfs->xSetSystemCall(vfs, calls[i], (sqlite3_syscall_ptr)read_beside_the_bad_sector);
	bad_sector = st.st_size - 1;
	assert_int_equal(store_open(p.dir, &no_limits, &s, &why), -EIO);
	assert_string_equal(why.at, "cannot open index.db: disk I/O error");
	bad_sector = 0;
	vfs->xSetSystemCall(vfs, NULL, NULL);

	s = open_store(&p);
	assert_int_equal(store_get(s, facts.id, &got), 0);
	assert_true(got.pinned);
	assert_string_equal(got.name, facts.name);
	stored_fini(&got);
	assert_int_equal(fstatat(p.dir, "index.damaged", &st, 0), -1);
	store_close(s);
	remove_place(&p);
}

static void a_profile_whose_file_is_gone_is_not_listed(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	auto_free char *command = xasprintf("rm %s/profiles/*", p.path);

	add_profile(s, "gone");
	store_close(s);
	assert_int_equal(system(command), 0);
	s = open_store(&p);
	assert_int_equal(nr_listed(s, ""), 0);
	store_close(s);
	remove_place(&p);
}

static void only_one_process_opens_a_store(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p), *other;
	auto_str struct str why = { 0 };

	assert_int_equal(store_open(p.dir, &no_limits, &other, &why), -EBUSY);
	assert_string_equal(why.at, "another process has the store open");
	store_close(s);
	store_close(open_store(&p));
	remove_place(&p);
}

static void the_store_of_a_newer_version_is_refused_and_unchanged(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	auto_free char *path = xasprintf("%s/index.db", p.path);
	auto_str struct str why = { 0 };
	sqlite3 *db;
	sqlite3_stmt *row;

	u64 id = add_profile(s, "kept");
	store_close(s);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	auto_free char *restore = xasprintf("PRAGMA user_version = %d", sqlite3_column_int(row, 0));
	sqlite3_finalize(row);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_open(p.dir, &no_limits, &s, &why), -EINVAL);
	assert_string_equal(why.at, "a newer version of sysflame wrote this directory");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, restore, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	s = open_store(&p);
	assert_content(store_open_file(s, id), "kept");
	store_close(s);
	remove_place(&p);
}

static void parts_are_kept_joined_and_dropped(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	u64 id = store_new_id(s), found[4];

	for (const char *part = "abcde"; *part; part++)
		assert_int_equal(store_add_part(s, id, part, 1), 0);
	assert_int_equal(store_join_parts(s, id, 1, 3, "BCD", 3), 0);
	assert_int_equal(store_join_parts(s, id, 1, 9, "no", 2), -EINVAL);
	store_close(s);
	s = open_store(&p);
	assert_int_equal(store_orphans(s, found, 4), 1);
	assert_int_equal(found[0], id);
	assert_content(store_open_part(s, id, 0), "a");
	assert_content(store_open_part(s, id, 1), "BCD");
	assert_content(store_open_part(s, id, 2), "e");
	assert_int_equal(store_open_part(s, id, 3), -ENOENT);
	assert_int_equal(store_join_parts(s, id, 0, 2, "aBCD", 4), 0);
	assert_int_equal(store_add_part(s, id, "f", 1), 0);
	assert_content(store_open_part(s, id, 0), "aBCD");
	assert_content(store_open_part(s, id, 2), "f");
	store_drop_parts(s, id);
	assert_int_equal(store_orphans(s, found, 4), 0);
	assert_true(store_new_id(s) > id);
	store_close(s);
	remove_place(&p);
}

/* A kill between writing the joined part and removing the old ones leaves both. */
static void a_joined_part_hides_those_that_were_joined(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	u64 id = store_new_id(s);

	for (const char *part = "abc"; *part; part++)
		assert_int_equal(store_add_part(s, id, part, 1), 0);
	auto_free char *path = xasprintf("%s/parts/%d/0-1.sflm", p.path, (int)id);
	auto_close int fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "AB", 2), 2);
	assert_content(store_open_part(s, id, 0), "AB");
	assert_content(store_open_part(s, id, 1), "c");
	store_close(s);
	s = open_store(&p);
	assert_content(store_open_part(s, id, 0), "AB");
	assert_int_equal(store_open_part(s, id, 2), -ENOENT);
	store_close(s);
	remove_place(&p);
}

/* A file of a person's name and pin, with and without the index; one with nonsense is no harm. */
static void names_and_pins_survive_a_lost_index(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	u64 id = add_profile(s, "a"), other = add_profile(s, "b"), gone = add_profile(s, "c");
	auto_free char *command = xasprintf(
		"for f in %s/profiles/*-%llu-*.facts; do echo 'name 99999999999' >$f; done", p.path,
		(unsigned long long)other);
	auto_free char *left = xasprintf("test $(ls %s/profiles | wc -l) = 4", p.path);
	struct stored got;

	assert_int_equal(store_rename(s, id, "before the\nsale \xe2\x82\xac"), 0);
	assert_int_equal(store_pin(s, id, true), 0);
	assert_int_equal(store_delete(s, gone), 0);
	store_tick(s, time_wall_ns() + 2 * STORE_UNDO_NS);
	store_close(s);
	assert_int_equal(system(command), 0);
	assert_int_equal(system(left), 0);
	assert_int_equal(unlinkat(p.dir, "index.db", 0), 0);
	s = open_store(&p);
	assert_int_equal(store_get(s, id, &got), 0);
	assert_non_null(strstr(got.name, "sale \xe2\x82\xac"));
	assert_true(got.pinned);
	assert_int_equal(got.samples, 1009);
	assert_string_equal(got.target, "checkout/7 prod");
	stored_fini(&got);
	assert_int_equal(store_get(s, other, &got), 0);
	assert_false(got.pinned);
	assert_string_equal(got.events, "cpu_alloc");
	stored_fini(&got);
	assert_int_equal(store_get(s, gone, &got), -ENOENT);
	store_close(s);
	remove_place(&p);
}

static void ten_thousand_profiles_are_listed_by_page(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct stored_list list;

	for (u64 i = 0; i < 10000; i++) {
		struct stored facts = facts_of(i + 1);
		assert_int_equal(store_add(s, &facts, NULL, 0), 0);
	}
	u64 begin = time_mono_ns();
	assert_int_equal(store_list(s, "checkout", 9000, 100, &list), 0);
	print_message("# listing 100 of 10,000 took %d us\n",
		      (int)((time_mono_ns() - begin) / 1000));
	assert_int_equal(list.nr_all, 10000);
	assert_int_equal(list.list.nr, 100);
	assert_int_equal(list.list.at[0].id, 1000);
	stored_list_fini(&list);
	store_close(s);
	remove_place(&p);
}

static void audit_and_settings_are_kept(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct store_audit_list list;

	store_audit(s, "operator", "started 1");
	store_audit(s, "viewer", "opened 1");
	assert_null(store_setting(s, "view"));
	assert_int_equal(store_set_setting(s, "view", "{}"), 0);
	assert_int_equal(store_set_setting(s, "view", "{\"dark\":true}"), 0);
	store_close(s);
	s = open_store(&p);
	assert_int_equal(store_audit_read(s, 10, &list), 0);
	assert_int_equal(list.list.nr, 2);
	assert_string_equal(list.list.at[0].who, "viewer");
	assert_string_equal(list.list.at[1].what, "started 1");
	store_audit_list_fini(&list);
	auto_free char *json = store_setting(s, "view");
	assert_string_equal(json, "{\"dark\":true}");
	store_tick(s, time_wall_ns() + 91 * DAY_NS);
	assert_int_equal(store_audit_read(s, 10, &list), 0);
	assert_int_equal(list.list.nr, 0);
	store_audit_list_fini(&list);
	store_close(s);
	remove_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_is_kept_with_its_facts),
		cmocka_unit_test(a_failed_recording_is_listed_without_a_file),
		cmocka_unit_test(ids_ascend_and_are_never_used_again),
		cmocka_unit_test(lists_are_newest_first_in_pages_and_by_words),
		cmocka_unit_test(profiles_without_their_file_are_not_restored),
		cmocka_unit_test(a_deleted_profile_can_be_restored_for_a_while),
		cmocka_unit_test(a_lost_or_damaged_index_is_made_from_the_files),
		cmocka_unit_test(a_read_error_does_not_discard_the_index),
		cmocka_unit_test(a_profile_whose_file_is_gone_is_not_listed),
		cmocka_unit_test(only_one_process_opens_a_store),
		cmocka_unit_test(the_store_of_a_newer_version_is_refused_and_unchanged),
		cmocka_unit_test(parts_are_kept_joined_and_dropped),
		cmocka_unit_test(a_joined_part_hides_those_that_were_joined),
		cmocka_unit_test(names_and_pins_survive_a_lost_index),
		cmocka_unit_test(ten_thousand_profiles_are_listed_by_page),
		cmocka_unit_test(audit_and_settings_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
