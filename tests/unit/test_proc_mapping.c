/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/mapping.h"

static void our_code_is_found_in_our_mappings(void **state)
{
	struct mappings all = { 0 };
	u64 pc = (u64)(uintptr_t)our_code_is_found_in_our_mappings;
	struct stat st;
	char exe[4096] = { 0 };

	assert_int_equal(mappings_read(getpid(), true, &all), 0);
	const struct mapping *m = mappings_find(&all, pc);
	assert_non_null(m);
	assert_true(m->executable && m->readable && !m->deleted);
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_int_equal(m->inode, st.st_ino);
	assert_int_equal(makedev(m->dev_major, m->dev_minor), st.st_dev);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(m->path, exe);
	assert_null(mappings_find(&all, 0));
	assert_null(mappings_find(&all, (u64)(uintptr_t)&st));
	mappings_fini(&all);
}

/* Maps a new file of that name and returns its path as our mappings show it. Unlinks the file. */
static void map_named(const char *name, bool unlink_first, struct mapping *out, char *path)
{
	struct mappings all = { 0 };
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 12288), 0);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 8192);
	assert_true(at != MAP_FAILED);
	if (unlink_first)
		unlink(name);
	assert_int_equal(mappings_read(getpid(), false, &all), 0);
	const struct mapping *m = mappings_find(&all, (u64)(uintptr_t)at);
	assert_non_null(m);
	*out = *m;
	snprintf(path, 4096, "%s", m->path);
	mappings_fini(&all);
	munmap(at, 4096);
	close(fd);
	unlink(name);
}

static void spaces_newlines_and_deletion_in_a_path_are_read(void **state)
{
	char dir[] = "/tmp/mapping test.XXXXXX", name[256], path[4096];
	struct mapping m;

	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/a b\nc 7f00-7f01 r-xp", dir);
	map_named(name, false, &m, path);
	assert_string_equal(path, name);
	assert_false(m.deleted);
	assert_int_equal(m.file_off, 8192);
	map_named(name, true, &m, path);
	assert_string_equal(path, name);
	assert_true(m.deleted);
	rmdir(dir);
}

static void special_mappings_keep_their_names(void **state)
{
	struct mappings all = { 0 };
	int nr_vdso = 0, nr_stack = 0, nr_anonymous = 0;

	assert_int_equal(mappings_read(getpid(), false, &all), 0);
	for (size_t i = 0; i < all.nr; i++) {
		nr_vdso += !strcmp(all.at[i].path, "[vdso]");
		nr_stack += !strcmp(all.at[i].path, "[stack]");
		nr_anonymous += !*all.at[i].path;
		assert_true(i == 0 || all.at[i - 1].end <= all.at[i].start);
	}
	assert_int_equal(nr_vdso, 1);
	assert_int_equal(nr_stack, 1);
	assert_true(nr_anonymous > 0);
	mappings_fini(&all);
}

/* Every second page has another protection, so that adjacent mappings do not merge. */
static void very_many_mappings_are_read_whole(void **state)
{
	enum {
		PAGES = 20011
	};
	struct mappings after = { 0 };

	char *at = mmap(NULL, PAGES * 4096ul, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(at != MAP_FAILED);
	for (size_t i = 0; i < PAGES; i += 2)
		assert_int_equal(mprotect(at + i * 4096, 4096, PROT_READ), 0);
	assert_int_equal(mappings_read(getpid(), false, &after), 0);
	assert_true(after.nr >= PAGES);
	for (size_t i = 0; i < PAGES; i++) {
		const struct mapping *m = mappings_find(&after, (u64)(uintptr_t)at + i * 4096 + 7);
		assert_non_null(m);
		assert_int_equal(m->readable, i % 2 == 0);
	}
	munmap(at, PAGES * 4096ul);
	mappings_fini(&after);
}

static void a_process_that_is_gone_is_reported(void **state)
{
	struct mappings all = { 0 };
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(mappings_read(child, true, &all), -ESRCH);
	assert_null(all.at);
}

static struct mapping range(u64 start, u64 end, char *path)
{
	return (struct mapping){
		.start = start, .end = end, .file_off = start, .inode = 1, .path = path
	};
}

static void a_new_mapping_splits_the_one_it_covers(void **state)
{
	struct mappings all = { 0 };
	struct mapping old = range(100, 200, "old"), new = range(140, 160, "new");

	mappings_insert(&all, &old);
	mappings_insert(&all, &new);
	assert_int_equal(all.nr, 3);
	assert_string_equal(mappings_find(&all, 139)->path, "old");
	assert_string_equal(mappings_find(&all, 140)->path, "new");
	assert_string_equal(mappings_find(&all, 160)->path, "old");
	assert_int_equal(mappings_find(&all, 160)->file_off, 160);
	assert_null(mappings_find(&all, 200));
	mappings_fini(&all);
}

/* Compares with an owner per address; the inode of a mapping is its number. */
static void random_inserts_agree_with_a_model(void **state)
{
	enum {
		ADDRS = 211
	};
	u64 model[ADDRS] = { 0 };
	struct mappings all = { 0 }, copy;

	srand(3);
	for (u64 i = 1; i < 3001; i++) {
		u64 start = (u64)rand() % ADDRS, end = start + (u64)rand() % 40;
		struct mapping m = range(start, end < ADDRS ? end : ADDRS, i % 3 ? "x" : "");
		m.inode = i;
		for (u64 a = m.start; a < m.end; a++)
			model[a] = i;
		mappings_insert(&all, &m);
		mappings_copy(&all, &copy);
		for (u64 a = 0; a < ADDRS; a++) {
			const struct mapping *hit = mappings_find(&copy, a);
			assert_int_equal(hit ? hit->inode : 0, model[a]);
			assert_true(!hit || hit->file_off == hit->start);
		}
		mappings_fini(&copy);
	}
	mappings_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_code_is_found_in_our_mappings),
		cmocka_unit_test(spaces_newlines_and_deletion_in_a_path_are_read),
		cmocka_unit_test(special_mappings_keep_their_names),
		cmocka_unit_test(very_many_mappings_are_read_whole),
		cmocka_unit_test(a_process_that_is_gone_is_reported),
		cmocka_unit_test(a_new_mapping_splits_the_one_it_covers),
		cmocka_unit_test(random_inserts_agree_with_a_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
