/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that a process chose: by path or as mapped, and debug files for workers. */
#include "proc/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "elf/debugfile.h"
#include "proc/blocking.h"
#include "proc/open_request.h"
#include "proc/status.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)

static int open_root(const char *path, uid_t uid, gid_t gid, struct target_root *out)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*out = (struct target_root){ fd, uid, gid };
	return 0;
}

int target_root_open(pid_t pid, struct target_root *out)
{
	struct proc_status status;
	char path[32];
	int err = excluded_touch(pid) ?: proc_status_read(pid, &status);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	err = open_root(path, status.fsuid, status.fsgid, out);
	pid_t tid = err == -ENOENT ? proc_other_thread(pid) : 0;
	if (!tid)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)tid);
	return open_root(path, status.fsuid, status.fsgid, out);
}

int target_root_open_ours(uid_t uid, gid_t gid, struct target_root *out)
{
	return open_root("/", uid, gid, out);
}

int target_root_open_owner(int fd, struct target_root *out)
{
	struct stat st;

	return fstat(fd, &st) ? -errno : target_root_open_ours(st.st_uid, st.st_gid, out);
}

void target_root_close(struct target_root *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

/* The ids of this thread for files. The C library would change those of all threads. */
struct ids {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int nr_groups;
	bool is_changed;
};

static pid_t tied_to; /* 0: to no process */

/* Sets the parent-death signal again: the kernel clears it at each change of ids. */
static void tie(void)
{
	if (tied_to && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != tied_to))
		_exit(1);
}

void target_file_tie(pid_t parent)
{
	tied_to = parent;
	tie();
}

/* Takes the ids for this thread. Without the right to change ids, ours stay. */
static void take_ids(uid_t uid, gid_t gid, struct ids *own)
{
	*own = (struct ids){ .uid = (uid_t)setfsuid((uid_t)-1), .gid = (gid_t)setfsgid((gid_t)-1) };
	if (own->uid == uid && own->gid == gid)
		return;
	int nr = getgroups(0, NULL);
	own->groups = xcalloc(nr > 0 ? (size_t)nr : 1, sizeof(gid_t));
	own->nr_groups = nr > 0 ? getgroups(nr, own->groups) : 0;
	if (own->nr_groups < 0 || syscall(SYS_setgroups, 0, NULL)) {
		free(take(own->groups));
		return;
	}
	own->is_changed = true;
	setfsgid(gid);
	setfsuid(uid);
	tie();
}

/* Ends the program on failure, because continuing with wrong ids would be worse. */
static void restore_ids(struct ids *own)
{
	if (!own->is_changed)
		return;
	setfsuid(own->uid);
	setfsgid(own->gid);
	if ((uid_t)setfsuid((uid_t)-1) != own->uid || (gid_t)setfsgid((gid_t)-1) != own->gid ||
	    syscall(SYS_setgroups, own->nr_groups, own->groups))
		abort();
	tie();
	free(take(own->groups));
}

/* Whether the file's mode lets that user read. Neither capabilities nor our own ids count. */
static bool admits(const struct stat *st, uid_t uid, gid_t gid)
{
	return !uid || st->st_mode & (st->st_uid == uid   ? S_IRUSR
				      : st->st_gid == gid ? S_IRGRP
							  : S_IROTH);
}

static int ask_opener(enum open_kind kind, const struct target_root *root, const char *path)
{
	struct open_order order = { .kind = kind, .uid = root->uid, .gid = root->gid };

	return open_request(&order, path, root->fd);
}

int target_file_open(const struct target_root *root, const char *path)
{
	struct stat st;
	struct ids own;

	if (open_requests_are_used())
		return ask_opener(OPEN_AS_PROCESS, root, path);
	take_ids(root->uid, root->gid, &own);
	auto_close int fd = file_open_regular(root->fd, path, IN_ROOT);
	restore_ids(&own);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	return admits(&st, root->uid, root->gid) ? take_fd(fd) : -EACCES;
}

static int open_beneath(int root_fd, const char *path, u64 flags)
{
	const struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC, .resolve = IN_ROOT };
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd >= 0 || errno != ENOSYS)
		return fd < 0 ? -errno : (int)fd;
	/* Before Linux 5.6: only names without a folder, and no links. */
	while (*path == '/')
		path++;
	if (strchr(path, '/'))
		return -ENOSYS;
	int plain = openat(root_fd, path, (int)flags | O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return plain < 0 ? -errno : plain;
}

u64 target_file_inode(const struct target_root *root, const char *path)
{
	auto_close int fd = open_beneath(root->fd, path, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

int target_folder_open(int root_fd, const char *path)
{
	return open_beneath(root_fd, path, O_DIRECTORY);
}

int target_file_open_unlinked(const struct target_root *root, const char *path)
{
	if (open_requests_are_used())
		return ask_opener(OPEN_UNLINKED, root, path);
	return file_open_regular(root->fd, path, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
}

static int open_map_file(pid_t pid, u64 start, u64 end)
{
	char path[96];

	/* Without leading zeros, as the kernel writes it. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid, (unsigned long)start,
		 (unsigned long)end);
	return file_open_regular(AT_FDCWD, path, 0);
}

/*
 * Opens with our ids the file that a process has mapped at this range, by /proc/PID/map_files. The
 * kernel's link leads to the file itself.
 */
static int open_range(pid_t pid, u64 start, u64 end)
{
	int fd = open_map_file(pid, start, end);
	pid_t tid = fd == -ENOENT ? proc_other_thread(pid) : 0;

	return tid ? open_map_file(tid, start, end) : fd;
}

/* Linux 6.3 has added MFD_NOEXEC_SEAL, and a node may demand it; older kernels refuse it. */
static int make_memfd(void)
{
	int fd = memfd_create("sysflame", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	return fd >= 0 ? fd : memfd_create("sysflame", MFD_CLOEXEC);
}

/*
 * Memfds are in a file system of the kernel that no process can mount: its device number is proof.
 * A link name is not, because a process can mount any file under any name.
 */
static bool is_on_memfd_device(const struct stat *st)
{
	auto_close int own = make_memfd();
	struct stat own_st;

	return own >= 0 && fstat(own, &own_st) == 0 && st->st_dev == own_st.st_dev;
}

/*
 * Whether our descriptor refers to a memfd of that name. Our own descriptor is read, because the
 * process may change its table at any time.
 */
static bool is_named(int fd, const char *name)
{
	char path[32], link[256];
	static const char prefix[] = "/memfd:";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(path, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = '\0';
	return !strncmp(link, prefix, strlen(prefix)) &&
	       !strncmp(link + strlen(prefix), name, strlen(name));
}

int target_memfd_open(int dir_fd, const char *entry, const char *name, uid_t owner)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW;
	auto_close int found = openat(dir_fd, entry, O_PATH | O_CLOEXEC);
	char again[32];
	struct stat st;

	if (found < 0 || fstat(found, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != owner || !is_on_memfd_device(&st) ||
	    !is_named(found, name))
		return -ENOENT;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	auto_close int readable = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (readable < 0)
		return -errno;
	int seals = fcntl(readable, F_GET_SEALS);
	if (seals < 0 || (seals & sealed) != sealed)
		return -ENOENT;
	int fd = open(again, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

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
	return checked(open_range(pid, m->start, m->end), m, true);
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

/*
 * Opens a mapped file by its path. Paths in /proc/PID/maps have no symbolic links, so a link found
 * now is an attempt to mislead.
 */
static int open_by_path(int err, struct target_root *root, const struct mapping *m)
{
	if (err)
		return err;
	int fd = target_file_open_unlinked(root, m->path);
	target_root_close(root);
	return checked(fd, m, false);
}

/* The process's root; after its end that of the nearest ancestor that runs. */
static int open_root_of(const struct mapper *by, struct target_root *out)
{
	int err = target_root_open(by->pid, out);

	for (int i = 0; (err == -ESRCH || err == -ENOENT) && i < ANCESTORS_MAX; i++)
		if (by->ancestors.at[i])
			err = target_root_open(by->ancestors.at[i], out);
	return err;
}

static int ask_opener_for_mapped(const struct mapper *by, const struct mapping *m)
{
	struct open_order order = {
		.kind = OPEN_MAPPED,
		.pid = by->pid,
		.ancestors = by->ancestors,
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
	return mapped_file_open_by(&(struct mapper){ .pid = pid }, m);
}

int mapped_file_open_by(const struct mapper *by, const struct mapping *m)
{
	struct target_root theirs, ours;

	if (!m->inode || m->path[0] != '/')
		return -ENOENT;
	int err = excluded_touch(by->pid);
	if (err)
		return err;
	if (open_requests_are_used())
		return ask_opener_for_mapped(by, m);
	int fd = open_by_range(by->pid, m);
	if (fd >= 0 || fd == -ENOEXEC)
		return fd;

	int in_target = open_by_path(open_root_of(by, &theirs), &theirs, m);
	if (in_target >= 0)
		return in_target;
	int in_ours = open_by_path(target_root_open_ours(geteuid(), getegid(), &ours), &ours, m);
	if (in_ours >= 0)
		return in_ours;
	if (fd == -ENOENT && (fd = open_by_current_range(by->pid, m)) >= 0)
		return fd;
	if (in_target == -ESTALE || in_ours == -ESTALE)
		return -ESTALE;
	return in_target == -EACCES || in_target == -EPERM ? in_target : -ENOENT;
}

struct debug_opener {
	pid_t pid;
	uid_t owner;
	char root[];
};

int debug_opener_open(void *ctx, u32 place, const char *path)
{
	const struct debug_opener *opener = ctx;
	struct target_root root;

	if (place != DEBUG_IN_PROCESS)
		return debugfile_open_host(opener->root, place, path);
	int err = target_root_open(opener->pid, &root);
	if (err)
		return err;
	auto_close int fd = target_file_open(&root, path);
	target_root_close(&root);
	return fd < 0 || debugfile_is_trusted(fd, opener->owner) ? take_fd(fd) : -EPERM;
}

struct debug_opener *debug_opener_new(const char *root, pid_t pid, uid_t owner)
{
	size_t len = strlen(root) + 1;
	struct debug_opener *opener = xmalloc(sizeof(*opener) + len);

	*opener = (struct debug_opener){ pid, owner };
	memcpy(opener->root, root, len);
	return opener;
}
