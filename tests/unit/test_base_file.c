/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

static int enter_folder(void **state)
{
	static char folder[] = "/tmp/test_base_file.XXXXXX";

	strcpy(folder, "/tmp/test_base_file.XXXXXX");
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

	assert_int_equal(outfile_open("out", &o), 0);
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
	assert_int_equal(outfile_open("out", &o), 0);
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
	assert_int_equal(outfile_open("out", &o), 0);
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

static void the_mode_follows_the_umask(void **state)
{
	struct stat st;
	mode_t old = umask(027);

	write_out("x");
	umask(old);
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void a_file_above_the_size_limit_is_refused(void **state)
{
	auto_free char *data = NULL;
	size_t len;

	write_out("12345");
	assert_int_equal(file_read("out", 4, &data, &len), -EFBIG);
	assert_null(data);
	assert_int_equal(file_read("out", 5, &data, &len), 0);
	assert_int_equal(len, 5);
}

static int count_line(const char *line, const char *end, void *ctx)
{
	size_t *sum = ctx;

	*sum += 1000 + (size_t)(end - line);
	return *line == '!' ? -ECANCELED : 0;
}

static int each_line_of(const char *text, size_t max, size_t *sum)
{
	write_out(text);
	auto_close int fd = open("out", O_RDONLY | O_CLOEXEC);

	*sum = 0;
	return file_each_line(fd, max, count_line, sum);
}

static void every_complete_line_is_visited(void **state)
{
	size_t sum;

	assert_int_equal(each_line_of("", 4, &sum), 0);
	assert_int_equal(sum, 0);
	assert_int_equal(each_line_of("a\n\nfour\nbb\ncut", 4, &sum), 0);
	assert_int_equal(sum, 4007);
	assert_int_equal(each_line_of("a\n!\nb\n", 4, &sum), -ECANCELED);
	assert_int_equal(sum, 2002);
	assert_int_equal(each_line_of("a\nfive5\nb\n", 4, &sum), -EBADMSG);
	assert_int_equal(each_line_of("a\nfive5", 4, &sum), -EBADMSG);
	assert_int_equal(file_each_line(-1, 4, count_line, &sum), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_appears_whole_and_replaces_the_old_one,
						enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(an_aborted_file_leaves_the_old_one_and_nothing_else,
						enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(a_new_file_takes_the_first_free_name, enter_folder,
						leave_folder),
		cmocka_unit_test_setup_teardown(an_existing_file_is_not_replaced_by_a_new_one,
						enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(two_new_files_at_once_get_two_names, enter_folder,
						leave_folder),
		cmocka_unit_test_setup_teardown(the_mode_follows_the_umask, enter_folder,
						leave_folder),
		cmocka_unit_test_setup_teardown(a_file_above_the_size_limit_is_refused,
						enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(every_complete_line_is_visited, enter_folder,
						leave_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
