/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM process that is about to be attached to. */
#include "jvm/target.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"

static int open_beneath(int root_fd, const char *path, u64 flags, u64 resolve)
{
	const struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd >= 0 || errno != ENOSYS)
		return fd < 0 ? -errno : (int)fd;
	/* Before Linux 5.6: names without a folder only, and no link. */
	while (*path == '/')
		path++;
	if (strchr(path, '/'))
		return -ENOSYS;
	int plain = openat(root_fd, path, (int)flags | O_NOFOLLOW | O_CLOEXEC);
	return plain < 0 ? -errno : plain;
}

/* Whether two files of /proc are the same namespace or folder. */
static bool is_same(int dir_a, const char *a, int dir_b, const char *b)
{
	struct stat st_a, st_b;

	return fstatat(dir_a, a, &st_a, 0) == 0 && fstatat(dir_b, b, &st_b, 0) == 0 &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

/* Lines "monotonic SECONDS NANOSECONDS": what the namespace's clock is ahead. */
static s64 read_clock_off(int proc_fd)
{
	auto_free char *text = NULL;
	long long seconds = 0, ns = 0;
	size_t len;

	if (file_read_at(proc_fd, "timens_offsets", 4096, &text, &len))
		return 0;
	const char *line = strstr(text, "monotonic");
	if (!line || sscanf(line, "monotonic %lld %lld", &seconds, &ns) != 2)
		return 0;
	return -(seconds * (s64)NS_PER_SEC + ns);
}

static int open_parts(struct target *t)
{
	t->root_fd = openat(t->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->root_fd < 0)
		return -errno;
	t->tmp_fd = open_beneath(t->root_fd, "tmp", O_PATH | O_DIRECTORY,
				 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (t->tmp_fd < 0)
		return t->tmp_fd;
	if (!is_same(t->proc_fd, "ns/mnt", AT_FDCWD, "/proc/self/ns/mnt")) {
		t->mnt_fd = openat(t->proc_fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
		if (t->mnt_fd < 0)
			return -errno;
	}
	t->has_our_root = t->mnt_fd < 0 && is_same(t->proc_fd, "root", AT_FDCWD, "/");
	return 0;
}

static void keep_own_ids(struct target *t)
{
	int nr = getgroups(0, NULL);

	t->own_uid = geteuid();
	t->own_gid = getegid();
	t->own_groups = nr > 0 ? xcalloc((size_t)nr, sizeof(gid_t)) : NULL;
	nr = nr > 0 ? getgroups(nr, t->own_groups) : 0;
	t->nr_own_groups = nr > 0 ? (size_t)nr : 0;
}

int target_open(pid_t pid, u64 start_ns, struct target *out)
{
	struct target t = { .pidfd = -1, .proc_fd = -1, .root_fd = -1, .tmp_fd = -1, .mnt_fd = -1 };
	char path[32];

	keep_own_ids(&t);
	/* The descriptor first: what is checked after it holds for this very process. */
	t.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (t.pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	t.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = t.proc_fd < 0 ? (errno == ENOENT ? -ESRCH : -errno)
				: proc_status_read(pid, &t.status);
	if (!err && !proc_same_start(t.status.start_ns, start_ns))
		err = -ESRCH;
	if (!err)
		err = open_parts(&t);
	if (err) {
		target_close(&t);
		return err;
	}
	t.program_ns = t.status.start_ns;
	t.clock_off_ns = read_clock_off(t.proc_fd);
	*out = t;
	return 0;
}

int target_open_root(pid_t pid, struct target *out)
{
	struct target t = { .pidfd = -1, .proc_fd = -1, .root_fd = -1, .tmp_fd = -1, .mnt_fd = -1 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	t.root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t.root_fd < 0)
		return -errno;
	*out = t;
	return 0;
}

void target_close(struct target *t)
{
	const int fds[] = { t->pidfd, t->proc_fd, t->root_fd, t->tmp_fd, t->mnt_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(t->own_groups);
}

static bool has_own_ids(const struct target *t)
{
	return t->status.euid == t->own_uid && t->status.egid == t->own_gid;
}

/* To go on with wrong ids would be worse than to end. */
static void take_own_ids(const struct target *t)
{
	if (setresuid((uid_t)-1, t->own_uid, (uid_t)-1) ||
	    setresgid((gid_t)-1, t->own_gid, (gid_t)-1) ||
	    setgroups(t->nr_own_groups, t->own_groups))
		_exit(1);
}

int target_become(const struct target *t)
{
	if (has_own_ids(t))
		return 0;
	if (setgroups(0, NULL))
		return -errno;
	if (setresgid((gid_t)-1, t->status.egid, (gid_t)-1) ||
	    setresuid((uid_t)-1, t->status.euid, (uid_t)-1)) {
		int err = -errno;
		take_own_ids(t);
		return err;
	}
	return 0;
}

void target_unbecome(const struct target *t)
{
	if (!has_own_ids(t))
		take_own_ids(t);
}

int target_open_file(const struct target *t, const char *path)
{
	return file_open_regular(t->root_fd, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

u64 target_inode(const struct target *t, const char *path)
{
	auto_close int fd =
		open_beneath(t->root_fd, path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

int target_create(const struct target *t, const char *name, mode_t mode)
{
	int err = target_become(t);

	if (err)
		return err;
	int fd =
		openat(t->tmp_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode);
	err = fd < 0 ? -errno : fd;
	target_unbecome(t);
	return err;
}

void target_unlink(const struct target *t, const char *name)
{
	if (target_become(t))
		return;
	unlinkat(t->tmp_fd, name, 0);
	target_unbecome(t);
}
