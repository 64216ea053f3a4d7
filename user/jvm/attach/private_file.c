/* SPDX-License-Identifier: Apache-2.0 */
/* A file in a file system of its own. */
#include "jvm/attach/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

#define NAME  "agent"
#define MODE  0555
#define PLACE "/proc" /* any folder: only this child sees what is mounted there */

static int make_file_system(void)
{
	auto_close int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", "8m", 0) ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	int mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	return mount_fd < 0 ? -errno : mount_fd;
}

/* The lock lasts as long as this process (leftover.h). */
static int lock_file(int folder)
{
	auto_close int fd = openat(folder, NAME, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	take_fd(fd);
	return 0;
}

/* Whether the file is ours, cannot be written by others, and holds these bytes. */
static bool is_right(int fd, const char *bytes, size_t len)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
	    (st.st_mode & 07777) != MODE || (size_t)st.st_size != len)
		return false;
	void *at = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	bool is_same = at != MAP_FAILED && !memcmp(at, bytes, len);
	if (at != MAP_FAILED)
		munmap(at, len);
	return is_same;
}

static int write_file(int folder, const char *bytes, size_t len)
{
	auto_close int fd = openat(folder, NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE);

	if (fd < 0 || fchmod(fd, MODE))
		return -errno;
	for (size_t done = 0; done < len;) {
		ssize_t put = write(fd, bytes + done, len - done);
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		done += (size_t)put;
	}
	return is_right(fd, bytes, len) ? 0 : -EBADMSG;
}

int private_file_mount(const char *bytes, size_t len)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV };
	auto_close int all = make_file_system();

	int err = all < 0 ? all : write_file(all, bytes, len) ?: lock_file(all);
	if (err)
		return err;
	/* Before Linux 6.15 only an attached mount can be cloned. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    move_mount(all, "", AT_FDCWD, PLACE, MOVE_MOUNT_F_EMPTY_PATH))
		return -errno;
	auto_close int tree = open_tree(all, NAME, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)))
		return -errno;
	return take_fd(tree);
}
