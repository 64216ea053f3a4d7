/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/target_file.h"

#define NOBODY 65534

static int enter_folder(void **state)
{
	static char folder[] = "/tmp/test_target_file.XXXXXX";

	strcpy(folder, "/tmp/test_target_file.XXXXXX");
	*state = mkdtemp(folder);
	return !*state || chmod(*state, 0755) || chdir(*state);
}

static int leave_folder(void **state)
{
	unlink("file");
	unlink("link");
	return chdir("/") || rmdir(*state);
}

static struct target_root root_of(const char *path, uid_t id)
{
	return (struct target_root){ open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), id, id };
}

static void make_file(mode_t mode)
{
	auto_close int fd = open("file", O_CREAT | O_EXCL | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(fchmod(fd, mode), 0);
}

static int open_as(uid_t id, const char *path)
{
	struct target_root here = root_of(".", id);
	int fd = target_file_open(&here, path);

	target_root_close(&here);
	return fd;
}

static void a_file_opens_for_those_whom_its_mode_admits(void **state)
{
	make_file(0600);
	auto_close int own = open_as(geteuid(), "file");
	assert_true(own >= 0);
	assert_int_equal(open_as(NOBODY, "file"), -EACCES);
	chmod("file", 0604);
	auto_close int theirs = open_as(NOBODY, "file");
	assert_true(theirs >= 0);
}

static void a_folder_that_the_process_may_not_enter_hides_its_files(void **state)
{
	if (geteuid())
		skip_because("needs root");
	make_file(0644);
	assert_int_equal(chmod(*state, 0700), 0);
	assert_int_equal(open_as(NOBODY, "file"), -EACCES);
	chmod(*state, 0755);
}

static void our_ids_are_back_after_each_open(void **state)
{
	const uid_t uid = (uid_t)setfsuid((uid_t)-1);
	const gid_t gid = (gid_t)setfsgid((gid_t)-1);
	const int nr_groups = getgroups(0, NULL);

	make_file(0600);
	assert_int_equal(open_as(NOBODY, "file"), -EACCES);
	assert_int_equal(open_as(NOBODY, "missing"), -ENOENT);
	assert_int_equal(setfsuid((uid_t)-1), uid);
	assert_int_equal(setfsgid((gid_t)-1), gid);
	assert_int_equal(getgroups(0, NULL), nr_groups);
	auto_close int own = open("file", O_RDONLY | O_CLOEXEC);
	assert_true(own >= 0);
}

static void links_lead_to_files_of_the_root_only(void **state)
{
	make_file(0644);
	assert_int_equal(symlink("/file", "link"), 0);
	auto_close int inside = open_as(geteuid(), "link");
	assert_true(inside >= 0);
	unlink("link");
	assert_int_equal(symlink("/etc/passwd", "link"), 0);
	assert_int_equal(open_as(geteuid(), "link"), -ENOENT);
	assert_int_equal(open_as(geteuid(), "../../../etc/passwd"), -ENOENT);
}

static void a_path_without_links_must_have_none(void **state)
{
	struct target_root here = root_of(".", geteuid());

	make_file(0644);
	assert_int_equal(symlink("file", "link"), 0);
	auto_close int fd = target_file_open_unlinked(&here, "file");
	assert_true(fd >= 0);
	assert_int_equal(target_file_open_unlinked(&here, "link"), -ELOOP);
	target_root_close(&here);
}

static void only_regular_files_open(void **state)
{
	assert_int_equal(mkfifo("file", 0666), 0);
	assert_int_equal(open_as(geteuid(), "file"), -ENOEXEC);
	unlink("file");
	assert_int_equal(mkdir("file", 0777), 0);
	assert_int_equal(open_as(geteuid(), "file"), -ENOEXEC);
	rmdir("file");
}

static void files_of_the_kernel_do_not_open(void **state)
{
	struct target_root host = root_of("/", geteuid());

	assert_int_equal(target_file_open(&host, "/proc/version"), -ENOEXEC);
	assert_int_equal(target_file_open_unlinked(&host, "/proc/version"), -ENOEXEC);
	if (access("/sys/kernel/mm", F_OK) == 0)
		assert_int_equal(target_file_open(&host, "/sys/kernel/uevent_seqnum"), -ENOEXEC);
	target_root_close(&host);
}

static int open_memfd(int fd, const char *name, uid_t owner)
{
	auto_close int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char entry[16];

	snprintf(entry, sizeof(entry), "%d", fd);
	return target_memfd_open(dir, entry, name, owner);
}

static void only_a_sealed_memfd_of_that_name_and_owner_opens(void **state)
{
	auto_close int fd = memfd_create("test-1-a", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(open_memfd(fd, "test-1-a", geteuid()), -ENOENT);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	auto_close int good = open_memfd(fd, "test-1-a", geteuid());
	assert_true(good >= 0);
	assert_int_equal(fcntl(good, F_GETFL) & O_ACCMODE, O_RDWR);
	assert_int_equal(open_memfd(fd, "test-1-b", geteuid()), -ENOENT);
	assert_int_equal(open_memfd(fd, "test-1-a", geteuid() + 1), -ENOENT);
}

static void a_file_that_is_no_memfd_does_not_open(void **state)
{
	make_file(0600);
	auto_close int fd = open("file", O_RDWR | O_CLOEXEC);
	assert_int_equal(open_memfd(fd, "", geteuid()), -ENOENT);
	auto_close int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(open_memfd(none, "", geteuid()), -ENOENT);
}

/* Opens a file as another user, writes its own PID to `out` and keeps running. */
static void run_tied(pid_t parent, int out)
{
	pid_t own = getpid();

	target_file_tie(parent);
	close(open_as(NOBODY, "file"));
	if (write(out, &own, sizeof(own)) == sizeof(own))
		pause();
	_exit(1);
}

static void a_tied_process_ends_with_its_parent(void **state)
{
	int out[2];
	pid_t tied;
	char c;

	make_file(0644);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t parent = fork();
	if (!parent) {
		pid_t own = getpid();
		if (!fork())
			run_tied(own, out[1]);
		pause();
	}
	close(out[1]);
	assert_int_equal(read(out[0], &tied, sizeof(tied)), sizeof(tied));
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	bool has_ended = poll(&(struct pollfd){ out[0], POLLIN, 0 }, 1, 30000) == 1 &&
			 read(out[0], &c, 1) == 0;
	kill(tied, SIGKILL);
	waitpid(tied, NULL, 0);
	close(out[0]);
	assert_true(has_ended);
}

static pid_t start_in_root(const char *root)
{
	int out[2];
	char c = 0;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (!pid) {
		if (!chroot(root) && write(out[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	close(out[1]);
	assert_int_equal(read(out[0], &c, 1), 1);
	close(out[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The compiler and its driver have ended; the shell that started them has their root. */
static void a_file_of_an_ended_process_is_found_in_the_root_of_an_ancestor(void **state)
{
	struct mapper by = { start_in_root("."), { { start_in_root("."), start_in_root(".") } } };
	struct stat st;

	make_file(0644);
	assert_int_equal(stat("file", &st), 0);
	struct mapping m = {
		.start = 0x1000,
		.end = 0x2000,
		.inode = st.st_ino,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.executable = true,
		.path = "/file",
	};
	end_child(by.pid);
	end_child(by.ancestors.at[0]);
	assert_int_equal(mapped_file_open(by.pid, &m), -ENOENT);
	int fd = mapped_file_open_by(&by, &m);
	m.inode++;
	int replaced = mapped_file_open_by(&by, &m);
	m.inode--;
	end_child(by.ancestors.at[1]);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(replaced, -ESTALE);
	assert_int_equal(mapped_file_open_by(&by, &m), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_opens_for_those_whom_its_mode_admits),
		TEST(a_folder_that_the_process_may_not_enter_hides_its_files),
		TEST(our_ids_are_back_after_each_open),
		TEST(links_lead_to_files_of_the_root_only),
		TEST(a_path_without_links_must_have_none),
		TEST(only_regular_files_open),
		TEST(files_of_the_kernel_do_not_open),
		TEST(only_a_sealed_memfd_of_that_name_and_owner_opens),
		TEST(a_file_that_is_no_memfd_does_not_open),
		TEST(a_tied_process_ends_with_its_parent),
		TEST(a_file_of_an_ended_process_is_found_in_the_root_of_an_ancestor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
