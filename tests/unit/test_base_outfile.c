/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"

static int enter_folder(void **state)
{
	static char folder[] = "/tmp/test_outfile.XXXXXX";

	strcpy(folder, "/tmp/test_outfile.XXXXXX");
	*state = mkdtemp(folder);
	return !*state || chdir(*state);
}

static int leave_folder(void **state)
{
	unlink("out");
	return chdir("/") || rmdir(*state);
}

static int nr_files(void)
{
	auto_closedir DIR *dir = opendir(".");
	int nr = 0;

	for (struct dirent *e; (e = readdir(dir));)
		nr += e->d_name[0] != '.';
	return nr;
}

static void write_out(const char *text)
{
	struct outfile *o;

	assert_int_equal(outfile_open("out", false, &o), 0);
	fputs(text, o->f);
	assert_int_equal(outfile_commit(o, NULL), 0);
}

static void assert_out(const char *text)
{
	auto_free char *data = NULL;
	size_t len;

	assert_int_equal(file_read("out", 100, &data, &len), 0);
	assert_string_equal(data, text);
}

static void a_file_appears_whole_and_replaces_the_old_one(void **state)
{
	struct outfile *o;
	u64 size;

	write_out("old");
	assert_int_equal(outfile_open("out", false, &o), 0);
	fputs("newer", o->f);
	fflush(o->f);
	assert_out("old");
	assert_int_equal(outfile_commit(o, &size), 0);
	assert_int_equal(size, 5);
	assert_out("newer");
	assert_int_equal(nr_files(), 1);
}

static void an_aborted_file_leaves_the_old_one_and_nothing_else(void **state)
{
	struct outfile *o;

	write_out("old");
	assert_int_equal(outfile_open("out", false, &o), 0);
	fputs("new", o->f);
	outfile_abort(o);
	outfile_abort(NULL);
	assert_out("old");
	assert_int_equal(nr_files(), 1);
}

static void assert_file(const char *path, const char *text)
{
	auto_free char *data = NULL;
	size_t len;

	assert_int_equal(file_read(path, 100, &data, &len), 0);
	assert_string_equal(data, text);
}

static char *write_new(const char *path, const char *text)
{
	struct outfile *o;
	char *name;
	u64 size;

	assert_int_equal(outfile_open_new(path, &o), 0);
	fputs(text, o->f);
	assert_int_equal(outfile_commit_new(o, &name, &size), 0);
	assert_int_equal(size, strlen(text));
	assert_file(name, text);
	return name;
}

static void a_new_file_takes_the_first_free_name(void **state)
{
	auto_free char *first = write_new("out", "1"), *second = write_new("out", "2");
	auto_free char *dotted = write_new("./a.b.pb.gz", "3");
	auto_free char *third = write_new("./a.b.pb.gz", "4");

	assert_string_equal(first, "out");
	assert_string_equal(second, "out-2");
	assert_string_equal(dotted, "./a.b.pb.gz");
	assert_string_equal(third, "./a-2.b.pb.gz");
	assert_file("out", "1");
	assert_int_equal(nr_files(), 4);
	unlink(second);
	unlink(dotted);
	unlink(third);
}

static void an_existing_file_is_not_replaced_by_a_new_one(void **state)
{
	assert_int_equal(symlink("nowhere", "out"), 0);
	assert_int_equal(mkfifo("out-2", 0600), 0);
	assert_int_equal(mkdir("out-3", 0700), 0);

	auto_free char *name = write_new("out", "x");
	assert_string_equal(name, "out-4");
	assert_int_equal(access("nowhere", F_OK), -1);
	assert_int_equal(nr_files(), 4);
	unlink(name);
	unlink("out-2");
	rmdir("out-3");
}

/* A name that is taken while the file is being written is not free either. */
static void two_new_files_at_once_get_two_names(void **state)
{
	struct outfile *a, *b;
	char *first, *second;

	assert_int_equal(outfile_open_new("out", &a), 0);
	assert_int_equal(outfile_open_new("out", &b), 0);
	fputs("a", a->f);
	fputs("b", b->f);
	assert_int_equal(outfile_commit_new(b, &first, NULL), 0);
	assert_int_equal(outfile_commit_new(a, &second, NULL), 0);
	assert_file("out", "b");
	assert_file("out-2", "a");
	unlink(second);
	free(first);
	free(second);
}

static void an_existing_folder_is_refused(void **state)
{
	struct outfile *o;

	assert_int_equal(mkdir("out", 0700), 0);
	assert_int_equal(outfile_open("out", false, &o), -EISDIR);
	assert_int_equal(outfile_try("out", false), -EISDIR);
	rmdir("out");
}

static void after_many_taken_names_a_new_file_gets_a_random_one(void **state)
{
	char name[32];

	for (int i = 1; i <= 1000; i++) {
		snprintf(name, sizeof(name), i == 1 ? "out" : "out-%d", i);
		assert_int_equal(symlink("nowhere", name), 0);
	}
	auto_free char *random = write_new("out", "x");
	assert_int_equal(strlen(random), strlen("out-") + 16);
	unlink(random);
	for (int i = 1; i <= 1000; i++) {
		snprintf(name, sizeof(name), i == 1 ? "out" : "out-%d", i);
		unlink(name);
	}
}

static void only_the_owner_can_read_the_file(void **state)
{
	struct stat st;
	mode_t old = umask(0);

	write_out("x");
	umask(old);
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Opening it would wait for a reader, or end the input of one. */
static void a_pipe_is_tried_without_opening_it(void **state)
{
	assert_int_equal(mkfifo("out", 0600), 0);
	assert_int_equal(outfile_try("out", false), 0);
}

static void a_pipe_of_another_user_in_a_sticky_folder_is_refused(void **state)
{
	struct outfile *o;

	if (geteuid())
		skip_because("needs root");
	assert_int_equal(mkfifo("out", 0666), 0);
	assert_int_equal(chown("out", 65534, 65534), 0);
	assert_int_equal(outfile_try("out", false), 0);
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(outfile_try("out", false), OUTFILE_ANOTHERS);
	assert_int_equal(outfile_open("out", false, &o), OUTFILE_ANOTHERS);
}

static void a_device_behind_a_link_of_another_user_is_refused(void **state)
{
	struct outfile *o;

	assert_int_equal(symlink("/dev/null", "out"), 0);
	write_out("x");
	assert_int_equal(chmod(".", 01777), 0);
	write_out("x");
	if (geteuid())
		return;
	assert_int_equal(lchown("out", 65534, 65534), 0);
	assert_int_equal(outfile_open("out", false, &o), OUTFILE_ANOTHERS);
}

static void a_block_device_needs_force(void **state)
{
	struct outfile *o;

	if (mknod("out", S_IFBLK | 0600, makedev(240, 0)))
		skip_because("no device can be made here");
	assert_int_equal(outfile_open("out", false, &o), OUTFILE_BLOCK_DEVICE);
	assert_int_equal(outfile_try("out", true), 0);
}

static void a_number_of_our_descriptors_is_written(void **state)
{
	auto_close int fd = open("out", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	auto_free char *path = xasprintf("/dev/fd/%d", fd);
	struct outfile *o;

	assert_int_equal(outfile_open(path, false, &o), 0);
	fputs("x", o->f);
	assert_int_equal(outfile_commit(o, NULL), 0);
	assert_out("x");
	assert_int_equal(outfile_open("/dev/fd/1023", false, &o), -EBADF);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_appears_whole_and_replaces_the_old_one),
		TEST(an_aborted_file_leaves_the_old_one_and_nothing_else),
		TEST(a_new_file_takes_the_first_free_name),
		TEST(an_existing_file_is_not_replaced_by_a_new_one),
		TEST(two_new_files_at_once_get_two_names),
		TEST(an_existing_folder_is_refused),
		TEST(after_many_taken_names_a_new_file_gets_a_random_one),
		TEST(only_the_owner_can_read_the_file),
		TEST(a_pipe_is_tried_without_opening_it),
		TEST(a_pipe_of_another_user_in_a_sticky_folder_is_refused),
		TEST(a_device_behind_a_link_of_another_user_is_refused),
		TEST(a_block_device_needs_force),
		TEST(a_number_of_our_descriptors_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
