/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the file behind a mapping of another process. */
#include "proc/mapped_file.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proc/excluded.h"
#include "proc/open_request.h"
#include "proc/target_file.h"

/*
 * In these file systems stat(2) reports another device, and on overlayfs another inode, than
 * /proc/PID/maps.
 */
static bool has_two_identities(int fd, bool *inode_too)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	*inode_too = fs.f_type == OVERLAYFS_SUPER_MAGIC;
	return *inode_too || fs.f_type == BTRFS_SUPER_MAGIC;
}

/*
 * `by_range`: the kernel found the file by the address range, which may have another mapping than
 * `m` by now.
 */
static bool is_mapped(int fd, const struct mapping *m, bool by_range)
{
	bool inode_too = false;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	bool same_inode = st.st_ino == m->inode;
	if (same_inode && st.st_dev == makedev(m->dev_major, m->dev_minor))
		return true;
	return has_two_identities(fd, &inode_too) && (same_inode || (by_range && inode_too));
}

static int checked(int fd, const struct mapping *m, bool by_range)
{
	if (fd < 0 || is_mapped(fd, m, by_range))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_by_range(pid_t pid, const struct mapping *m)
{
	return checked(target_file_open_range(pid, m->start, m->end), m, true);
}

static bool maps_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/*
 * The kernel may have merged or split the mapping since `m` was read. Text that was copied to
 * anonymous memory has its file mapped elsewhere.
 */
static int open_by_current_range(pid_t pid, const struct mapping *m)
{
	struct mappings all;
	int fd = -ENOENT;

	if (mappings_read(pid, m->executable && !m->is_copy, &all))
		return fd;
	for (size_t i = 0; i < all.nr && fd == -ENOENT; i++) {
		if (maps_same_file(&all.at[i], m))
			fd = open_by_range(pid, &all.at[i]);
	}
	mappings_fini(&all);
	return fd;
}

/* Paths in /proc/PID/maps are free of symbolic links. A link there now is an attempt to mislead. */
static int open_by_path(int err, struct target_root *root, const struct mapping *m)
{
	if (err)
		return err;
	int fd = target_file_open_unlinked(root, m->path);
	target_root_close(root);
	return checked(fd, m, false);
}

static int ask_opener(pid_t pid, const struct mapping *m)
{
	struct open_order order = {
		.kind = OPEN_MAPPED,
		.pid = pid,
		.dev_major = m->dev_major,
		.dev_minor = m->dev_minor,
		.is_executable = m->executable && !m->is_copy,
		.start = m->start,
		.end = m->end,
		.inode = m->inode,
	};

	return open_request(&order, m->path, -1);
}

int mapped_file_open(pid_t pid, const struct mapping *m)
{
	struct target_root theirs, ours;

	if (!m->inode || m->path[0] != '/')
		return -ENOENT;
	int err = excluded_touch(pid);
	if (err)
		return err;
	if (open_requests_are_used())
		return ask_opener(pid, m);
	int fd = open_by_range(pid, m);
	if (fd >= 0 || fd == -ENOEXEC)
		return fd;

	int in_target = open_by_path(target_root_open(pid, &theirs), &theirs, m);
	if (in_target >= 0)
		return in_target;
	int in_ours = open_by_path(target_root_open_ours(geteuid(), getegid(), &ours), &ours, m);
	if (in_ours >= 0)
		return in_ours;
	if (fd == -ENOENT && (fd = open_by_current_range(pid, m)) >= 0)
		return fd;
	if (in_target == -ESTALE || in_ours == -ESTALE)
		return -ESTALE;
	return in_target == -EACCES || in_target == -EPERM ? in_target : -ENOENT;
}
