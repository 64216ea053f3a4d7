/* SPDX-License-Identifier: Apache-2.0 */
/* Files that killed attaches have left. */
#include "jvm/attach/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "jvmmap/wire.h"
#include "proc/target_file.h"

#define PREFIX  ".jvmmap-"
#define SUFFIX  ".so"
#define OLD_AGE 60 /* s; an attach is aborted after 15 */

void leftover_name(const char *digits, char out[64])
{
	snprintf(out, 64, PREFIX "%s" SUFFIX, digits);
}

bool leftover_is_name(const char *name)
{
	const size_t prefix = strlen(PREFIX);

	return !strncmp(name, PREFIX, prefix) &&
	       strspn(name + prefix, "0123456789abcdef") == WIRE_NONCE_LEN &&
	       !strcmp(name + prefix + WIRE_NONCE_LEN, SUFFIX);
}

/* Between both calls another attach may take it for a leftover. It then holds the lock. */
int leftover_create(const struct process_root *t, const char *name)
{
	auto_close int fd = process_root_create(t, name, 0500);
	struct stat st;

	if (fd < 0)
		return fd;
	if ((flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) || fstat(fd, &st) ||
	    !st.st_nlink)
		return -EEXIST;
	return take_fd(fd);
}

/* In another mount namespace, removing the file also removes the mount. */
static void unmount(const struct process_root *t, const char *name)
{
	char path[32 + NAME_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", t->tmp_fd, name);
	if (t->mnt_fd < 0)
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
}

void leftover_remove(const struct process_root *t, const char *name)
{
	unmount(t, name);
	process_root_unlink(t, name);
}

/* The file as the target can read it; of a mount, the file that is mounted. */
static int open_file(const struct process_root *t, const char *name)
{
	const struct target_root tmp = { t->tmp_fd, 0, 0 };

	if (process_root_become(t))
		return -EPERM;
	int fd = target_file_open_unlinked(&tmp, name);
	process_root_unbecome(t);
	return fd;
}

/* Whoever can read the file can hold a lock on it, but not for longer than OLD_AGE. */
static bool is_free(int fd, const struct stat *st)
{
	return !flock(fd, LOCK_EX | LOCK_NB) || time(NULL) - st->st_ctime >= OLD_AGE;
}

/* The lock keeps others from removing it meanwhile, and a new attach from using its name. */
static void remove_if_free(const struct process_root *t, const char *name)
{
	auto_close int fd = open_file(t, name);
	struct stat st, now;

	if (fd >= 0 && !fstat(fd, &st) && is_free(fd, &st) &&
	    !fstatat(t->tmp_fd, name, &now, AT_SYMLINK_NOFOLLOW) && st.st_dev == now.st_dev &&
	    st.st_ino == now.st_ino)
		leftover_remove(t, name);
}

void leftovers_remove(const struct process_root *t)
{
	int fd = openat(t->tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (leftover_is_name(e->d_name))
			remove_if_free(t, e->d_name);
}
