/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of rows in a test folder, with libc's rows and variants of them. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "capture/unwind/row_build.h"
#include "elf/elf.h"
#include "elf/rowcache.h"

#define PLENTY (64u << 20)

struct world {
	char dir[64], outside[80];
	u8 *libc; /* bytes of libc */
	size_t len;
	u64 eh_frame_end; /* offset in these bytes */
	struct rowcache cache;
	u32 nr_built; /* modules compiled since the cache was opened */
};

static int make_world(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	char *bytes;

	strcpy(w->dir, "/tmp/test_rowcache.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->outside, sizeof(w->outside), "%s.outside", w->dir);
	assert_int_equal(file_read("/lib/x86_64-linux-gnu/libc.so.6", PLENTY, &bytes, &w->len), 0);
	w->libc = (u8 *)bytes;
	struct elf *e;
	assert_int_equal(elf_open_memory(w->libc, w->len, &e), 0);
	const struct elf_section *s = elf_section_find(e, ".eh_frame");
	w->eh_frame_end = s->file_off + s->size;
	elf_free(e);
	assert_int_equal(rowcache_open(w->dir, PLENTY, &w->cache), 0);
	*state = w;
	return 0;
}

static int end_world(void **state)
{
	struct world *w = *state;
	auto_closedir DIR *dir = opendir(w->dir);

	for (struct dirent *d; dir && (d = readdir(dir));)
		unlinkat(dirfd(dir), d->d_name, 0);
	rmdir(w->dir);
	unlink(w->outside);
	rowcache_fini(&w->cache);
	free(w->libc);
	free(w);
	return 0;
}

/* As the recorder does: from the cache, or compiled and stored. */
static void get_rows(struct world *w, struct rows *out)
{
	auto_close int fd = memfd_create("libc", MFD_CLOEXEC);
	u32 nr_hits = w->cache.nr_hits;
	struct built_rows built;

	assert_int_equal(write(fd, w->libc, w->len), w->len);
	struct row_build *b = row_build_start(NULL, &w->cache, fd, 0, ROWS_MAX);
	assert_int_equal(row_build_result(b, &built), 0);
	row_build_free(b);
	free(built.segments);
	*out = built.rows;
	w->nr_built += w->cache.nr_hits == nr_hits;
}

/* Builds the rows of libc, or of a variant that differs only after the last entry. */
static void build(struct world *w, u8 variant)
{
	auto_elf struct elf *e = NULL;
	auto_rows struct rows rows = { 0 }, fresh = { 0 };

	w->libc[w->eh_frame_end - 1] = variant;
	assert_int_equal(elf_open_memory(w->libc, w->len, &e), 0);
	get_rows(w, &rows);
	assert_int_equal(rows_build(e, &fresh), 0);
	assert_int_equal(rows.nr, fresh.nr);
	assert_memory_equal(rows.at, fresh.at, rows.nr * sizeof(rows.at[0]));
	assert_true(rows.base == fresh.base && rows.nr_fdes == fresh.nr_fdes &&
		    rows.nr_unsupported == fresh.nr_unsupported);
}

static void expect(const struct world *w, u32 nr_hits, u32 nr_built, u32 nr_damaged)
{
	assert_int_equal(w->cache.nr_hits, nr_hits);
	assert_int_equal(w->nr_built, nr_built);
	assert_int_equal(w->cache.nr_damaged, nr_damaged);
}

/* The paths of the row files. The caller frees them. */
static glob_t files(const struct world *w)
{
	auto_free char *pattern = xasprintf("%s/*.rows", w->dir);
	glob_t paths = { 0 };

	glob(pattern, 0, NULL, &paths);
	return paths;
}

static char *only_file(const struct world *w)
{
	glob_t paths = files(w);

	assert_int_equal(paths.gl_pathc, 1);
	char *path = xstrdup(paths.gl_pathv[0]);
	globfree(&paths);
	return path;
}

static void set_age(const char *path, time_t seconds)
{
	struct timespec at = { .tv_sec = time(NULL) - seconds };

	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ at, at }, 0), 0);
}

static void rows_are_built_once(void **state)
{
	struct world *w = *state;

	build(w, 0);
	expect(w, 0, 1, 0);
	build(w, 0);
	expect(w, 1, 1, 0);

	rowcache_fini(&w->cache);
	w->nr_built = 0;
	assert_int_equal(rowcache_open(w->dir, PLENTY, &w->cache), 0);
	build(w, 0);
	expect(w, 1, 0, 0);
}

static void the_same_build_id_with_other_content_is_another_file(void **state)
{
	struct world *w = *state;

	build(w, 0);
	build(w, 1);
	expect(w, 0, 2, 0);
	build(w, 0);
	build(w, 1);
	expect(w, 2, 2, 0);
}

/* A stack ends at the entry point of its process. */
static void the_same_file_with_another_entry_is_another_file(void **state)
{
	struct world *w = *state;

	build(w, 0);
	((Elf64_Ehdr *)w->libc)->e_entry++;
	build(w, 0);
	expect(w, 0, 2, 0);
}

static void files_are_not_accessible_to_others(void **state)
{
	struct world *w = *state;
	struct stat st;

	build(w, 0);
	auto_free char *path = only_file(w);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_missing_folder_is_made(void **state)
{
	struct world *w = *state;
	auto_free char *path = xasprintf("%s/new", w->dir);
	struct rowcache cache = ROWCACHE_NONE;
	struct stat st;

	assert_int_equal(rowcache_open(path, PLENTY, &cache), 0);
	assert_int_equal(fstat(cache.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	unlinkat(cache.dir, "key", 0);
	rowcache_fini(&cache);
	assert_int_equal(rmdir(path), 0);
}

static void a_folder_open_to_others_is_refused(void **state)
{
	struct world *w = *state;
	struct rowcache cache = ROWCACHE_NONE;

	for (mode_t bit = 1; bit <= 040; bit <<= 1) {
		assert_int_equal(chmod(w->dir, 0700 | bit), 0);
		assert_int_equal(rowcache_open(w->dir, PLENTY, &cache), -EPERM);
	}
}

static void a_folder_of_another_user_is_refused(void **state)
{
	struct world *w = *state;
	struct rowcache cache = ROWCACHE_NONE;

	if (geteuid() != 0)
		skip_because("another user takes root");
	assert_int_equal(chown(w->dir, 65534, 65534), 0);
	assert_int_equal(rowcache_open(w->dir, PLENTY, &cache), -EPERM);
}

static void a_link_instead_of_a_folder_is_refused(void **state)
{
	struct world *w = *state;
	struct rowcache cache = ROWCACHE_NONE;

	assert_int_equal(symlink(w->dir, w->outside), 0);
	assert_int_equal(rowcache_open(w->outside, PLENTY, &cache), -ENOTDIR);
}

static void a_link_in_the_folder_is_not_followed(void **state)
{
	struct world *w = *state;
	struct stat st;

	build(w, 0);
	auto_free char *path = only_file(w);
	assert_int_equal(rename(path, w->outside), 0);
	assert_int_equal(symlink(w->outside, path), 0);
	build(w, 0);
	expect(w, 0, 2, 1);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void a_file_of_another_user_is_not_used(void **state)
{
	struct world *w = *state;

	if (geteuid() != 0)
		skip_because("another user takes root");
	build(w, 0);
	auto_free char *path = only_file(w);
	assert_int_equal(chown(path, 65534, -1), 0);
	build(w, 0);
	expect(w, 0, 2, 1);
}

static void a_file_others_may_write_is_not_used(void **state)
{
	struct world *w = *state;

	build(w, 0);
	auto_free char *path = only_file(w);
	assert_int_equal(chmod(path, 0620), 0);
	build(w, 0);
	expect(w, 0, 2, 1);
}

static void a_fifo_does_not_block(void **state)
{
	struct world *w = *state;

	build(w, 0);
	auto_free char *path = only_file(w);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	build(w, 0);
	expect(w, 0, 2, 1);
}

static void flip(const char *path, off_t at)
{
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC);
	u8 byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void every_damaged_byte_is_detected(void **state)
{
	struct world *w = *state;
	struct stat st;
	u32 nr = 0;

	build(w, 0);
	auto_free char *path = only_file(w);
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at += at < 72 ? 1 : 31013) {
		flip(path, at);
		build(w, 0);
		nr++;
		expect(w, 0, nr + 1, nr);
	}
	assert_true(nr > 72);
}

static void a_file_of_another_length_is_not_used(void **state)
{
	struct world *w = *state;
	struct stat st;
	u32 nr = 0;

	build(w, 0);
	auto_free char *path = only_file(w);
	assert_int_equal(stat(path, &st), 0);
	const off_t lengths[] = {
		0, 1, 63, 64, 72, st.st_size - 8, st.st_size - 1, st.st_size + 1
	};
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		assert_int_equal(truncate(path, lengths[i]), 0);
		build(w, 0);
		nr++;
		expect(w, 0, nr + 1, nr);
	}
}

static void without_its_key_no_file_is_used(void **state)
{
	struct world *w = *state;
	auto_free char *key = xasprintf("%s/key", w->dir);

	for (int i = 0; i < 2; i++) {
		build(w, 0);
		rowcache_fini(&w->cache);
		w->nr_built = 0;
		assert_int_equal(i ? truncate(key, 3) : unlink(key), 0);
		assert_int_equal(rowcache_open(w->dir, PLENTY, &w->cache), 0);
		build(w, 0);
		assert_int_equal(w->cache.nr_hits, 0);
	}
}

static void the_least_recently_used_file_is_removed_first(void **state)
{
	struct world *w = *state;
	auto_free char *first = NULL;

	build(w, 1);
	first = only_file(w);
	build(w, 2);
	glob_t both = files(w);
	assert_int_equal(both.gl_pathc, 2);
	const char *second = both.gl_pathv[!strcmp(both.gl_pathv[0], first)];
	set_age(first, 500);
	set_age(second, 200);
	build(w, 1); /* it was just used */
	w->cache.max_bytes = 23331 * 8 * 5 / 2;
	build(w, 3);
	assert_int_equal(access(first, F_OK), 0);
	assert_int_equal(access(second, F_OK), -1);
	globfree(&both);
	glob_t left = files(w);
	assert_int_equal(left.gl_pathc, 2);
	globfree(&left);
}

static void rows_larger_than_the_cache_are_not_stored(void **state)
{
	struct world *w = *state;

	w->cache.max_bytes = 1000;
	build(w, 0);
	build(w, 0);
	expect(w, 0, 2, 0);
	glob_t none = files(w);
	assert_int_equal(none.gl_pathc, 0);
	globfree(&none);
}

static void the_temporary_file_of_a_dead_writer_is_removed(void **state)
{
	struct world *w = *state;
	auto_free char *old = xasprintf("%s/0123.tmp", w->dir);
	auto_free char *young = xasprintf("%s/4567.tmp", w->dir);

	close(open(old, O_CREAT | O_CLOEXEC | O_WRONLY, 0600));
	close(open(young, O_CREAT | O_CLOEXEC | O_WRONLY, 0600));
	set_age(old, 7200);
	build(w, 0);
	assert_int_equal(access(old, F_OK), -1);
	assert_int_equal(access(young, F_OK), 0);
}

static void without_a_folder_rows_are_built(void **state)
{
	struct world *w = *state;

	rowcache_fini(&w->cache);
	build(w, 0);
	expect(w, 0, 1, 0);
}

static bool has(struct world *w, const char *name, const char *text)
{
	auto_free void *bytes = NULL;
	size_t len;

	int err = rowcache_load_named(&w->cache, name, &bytes, &len);
	assert_true(!err || err == -ENOENT);
	assert_true(err || (len == strlen(text) && !memcmp(bytes, text, len)));
	return !err;
}

static void bytes_with_a_name_are_kept(void **state)
{
	struct world *w = *state;
	auto_free char *longest = xcalloc(1, ROWCACHE_NAMED_MAX + 1);

	assert_false(has(w, "types-1", "old"));
	rowcache_store_named(&w->cache, "types-1", "old", 3);
	rowcache_store_named(&w->cache, "types-2", "other", 5);
	assert_true(has(w, "types-1", "old") && has(w, "types-2", "other"));
	rowcache_store_named(&w->cache, "types-1", "new one", 7);
	assert_true(has(w, "types-1", "new one"));
	rowcache_store_named(&w->cache, "types-3", longest, ROWCACHE_NAMED_MAX + 1);
	assert_false(has(w, "types-3", ""));
	assert_int_equal(w->cache.nr_damaged, 0);
	w->cache.max_bytes = 8;
	rowcache_store_named(&w->cache, "types-4", "too long", 8);
	assert_false(has(w, "types-4", ""));
}

static void bytes_under_another_name_or_damaged_are_not_used(void **state)
{
	struct world *w = *state;
	auto_free char *path = xasprintf("%s/types-1.kept", w->dir);
	auto_free char *other = xasprintf("%s/types-2.kept", w->dir);
	u32 nr = 0;

	rowcache_store_named(&w->cache, "types-1", "bytes", 5);
	assert_int_equal(rename(path, other), 0);
	assert_false(has(w, "types-2", ""));
	assert_int_equal(w->cache.nr_damaged, ++nr);
	assert_int_equal(access(other, F_OK), -1);
	for (off_t at = 0; at < 13; at++) {
		rowcache_store_named(&w->cache, "types-1", "bytes", 5);
		flip(path, at);
		assert_false(has(w, "types-1", ""));
		assert_int_equal(w->cache.nr_damaged, ++nr);
	}
	for (off_t len = 0; len < 13; len++) {
		rowcache_store_named(&w->cache, "types-1", "bytes", 5);
		assert_int_equal(truncate(path, len), 0);
		assert_false(has(w, "types-1", ""));
		assert_int_equal(w->cache.nr_damaged, ++nr);
	}
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(rows_are_built_once),
		WITH_WORLD(the_same_build_id_with_other_content_is_another_file),
		WITH_WORLD(the_same_file_with_another_entry_is_another_file),
		WITH_WORLD(files_are_not_accessible_to_others),
		WITH_WORLD(a_missing_folder_is_made),
		WITH_WORLD(a_folder_open_to_others_is_refused),
		WITH_WORLD(a_folder_of_another_user_is_refused),
		WITH_WORLD(a_link_instead_of_a_folder_is_refused),
		WITH_WORLD(a_link_in_the_folder_is_not_followed),
		WITH_WORLD(a_file_of_another_user_is_not_used),
		WITH_WORLD(a_file_others_may_write_is_not_used),
		WITH_WORLD(a_fifo_does_not_block),
		WITH_WORLD(every_damaged_byte_is_detected),
		WITH_WORLD(a_file_of_another_length_is_not_used),
		WITH_WORLD(without_its_key_no_file_is_used),
		WITH_WORLD(the_least_recently_used_file_is_removed_first),
		WITH_WORLD(rows_larger_than_the_cache_are_not_stored),
		WITH_WORLD(the_temporary_file_of_a_dead_writer_is_removed),
		WITH_WORLD(without_a_folder_rows_are_built),
		WITH_WORLD(bytes_with_a_name_are_kept),
		WITH_WORLD(bytes_under_another_name_or_damaged_are_not_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
