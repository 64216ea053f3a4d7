/* SPDX-License-Identifier: Apache-2.0 */
/* Makes our agent's file visible to a target. */
#include "jvm/attach/deliver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "jvmmap/wire.h"
#include "proc/capability.h"

#define SWEEP_AGE 60 /* s; an attach is aborted after 15 */

void delivery_name(const char *nonce, char out[64])
{
	snprintf(out, 64, ".jvmmap-%s.so", nonce);
}

static bool is_noexec(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_NOEXEC;
}

/* Whether the target itself can read and map the file at our path. */
static bool sees_our_path(const struct process_root *t, const char *agent_path)
{
	if (!t->has_our_root || *agent_path != '/' || process_root_become(t))
		return false;
	auto_close int fd = open(agent_path, O_RDONLY | O_CLOEXEC);
	process_root_unbecome(t);
	return fd >= 0 && !is_noexec(fd);
}

/* Makes a mount of only the file, not yet attached anywhere. */
static int detached_mount(const char *agent_path)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV };
	auto_close int tree = open_tree(AT_FDCWD, agent_path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return -errno;
	if (is_noexec(tree))
		return -ENOEXEC;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)))
		return -errno;
	return take_fd(tree);
}

/*
 * The child in the target's mount namespace. It mounts, reports an errno as one int, and unmounts
 * when its parent closes `hold` or dies.
 */
static void run_mounter(const struct process_root *t, const char *name, int tree, int file,
			int ready, int hold)
{
	int err = 0;
	char c;

	if ((t->mnt_fd >= 0 && setns(t->mnt_fd, CLONE_NEWNS)) || fchdir(t->tmp_fd) ||
	    move_mount(tree, "", file, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH))
		err = errno;
	bool is_reported = write(ready, &err, sizeof(err)) == sizeof(err);
	if (err)
		_exit(1);
	while (is_reported && read(hold, &c, 1) < 0 && errno == EINTR)
		;
	umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW);
	_exit(0);
}

static int start_mounter(const struct process_root *t, int tree, int file, struct delivery *d)
{
	int ready[2], hold[2], err = EPIPE;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	if (pipe2(hold, O_CLOEXEC)) {
		close(ready[0]);
		close(ready[1]);
		return -EMFILE;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(ready[0]);
		close(hold[1]);
		run_mounter(t, d->name, tree, file, ready[1], hold[0]);
	}
	close(ready[1]);
	close(hold[0]);
	if (pid > 0 && read(ready[0], &err, sizeof(err)) != sizeof(err))
		err = EPIPE;
	close(ready[0]);
	if (pid > 0 && !err) {
		d->mounter = pid;
		d->hold_fd = hold[1];
		return 0;
	}
	close(hold[1]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return -err;
}

static int mount_there(const struct process_root *t, const char *agent_path, struct delivery *d)
{
	auto_close int tree = detached_mount(agent_path);
	if (tree < 0)
		return tree;
	auto_close int made = process_root_create(t, d->name, 0500);
	if (made < 0)
		return made;
	auto_close int file = openat(t->tmp_fd, d->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int err = file < 0 ? -errno : start_mounter(t, tree, file, d);
	if (err)
		process_root_unlink(t, d->name);
	return err;
}

static int copy_bytes(int from, int to)
{
	char buffer[16384];
	ssize_t got;

	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(to, buffer + done, (size_t)(got - done));
			if (put <= 0)
				return put < 0 ? -errno : -EIO;
			done += put;
		}
	return got < 0 ? -errno : 0;
}

static int copy_there(const struct process_root *t, const char *agent_path, struct delivery *d)
{
	/* A failed dlopen leaks memory in the target: check first. */
	if (is_noexec(t->tmp_fd))
		return -ENOEXEC;
	auto_close int from = open(agent_path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	auto_close int to = process_root_create(t, d->name, 0500);
	if (to < 0)
		return to;
	int err = copy_bytes(from, to);
	if (err)
		process_root_unlink(t, d->name);
	return err;
}

static void explain(int err, struct str *why)
{
	str_clear(why);
	switch (-err) {
	case EROFS:
		str_add(why, "its /tmp is read-only; mount a writable /tmp");
		break;
	case ENOEXEC:
		str_add(why, "its /tmp is mounted noexec; run sysflame with CAP_SYS_ADMIN, which "
			     "does not need it");
		break;
	case ENOSPC:
	case EDQUOT:
		str_add(why, "its /tmp is full; make room there");
		break;
	case EPERM:
	case EACCES:
		str_addf(why, "its user may not write to its /tmp; make that writable%s",
			 capability_has(CAP_SYS_ADMIN) ? ""
						       : ", or run sysflame with CAP_SYS_ADMIN");
		break;
	default:
		str_addf(why, "the agent cannot be put into its /tmp (%s)", strerror(-err));
	}
}

int deliver(const struct process_root *t, const char *agent_path, const char *nonce,
	    enum delivery_way way, struct delivery *out, struct str *why)
{
	struct delivery d = { .hold_fd = -1 };
	int err = -EINVAL;

	if (way == DELIVERY_BEST && strlen(agent_path) < sizeof(d.path) &&
	    sees_our_path(t, agent_path)) {
		strcpy(d.path, agent_path);
		*out = d;
		return 0;
	}
	delivery_name(nonce, d.name);
	snprintf(d.path, sizeof(d.path), "/tmp/%s", d.name);
	if (way != DELIVERY_COPY)
		err = mount_there(t, agent_path, &d);
	if (way == DELIVERY_COPY || (way != DELIVERY_MOUNT && err))
		err = copy_there(t, agent_path, &d);
	if (err)
		explain(err, why);
	else
		*out = d;
	return err;
}

void delivery_undo(const struct process_root *t, struct delivery *d)
{
	if (d->mounter) {
		close(d->hold_fd);
		waitpid(d->mounter, NULL, 0);
		d->mounter = 0;
	}
	if (*d->name)
		process_root_unlink(t, d->name);
	d->name[0] = '\0';
}

/* ".jvmmap-", 32 hexadecimal digits, ".so": only sysflame makes such names. */
static bool is_delivery(const char *name)
{
	const size_t prefix = strlen(".jvmmap-");

	return !strncmp(name, ".jvmmap-", prefix) &&
	       strspn(name + prefix, "0123456789abcdef") == WIRE_NONCE_LEN &&
	       !strcmp(name + prefix + WIRE_NONCE_LEN, ".so");
}

/*
 * The file's creation time, or a later one. A mount hides its file's time; then the last change of
 * the folder.
 */
static bool when_made(int tmp_fd, const char *name, bool *is_mount, time_t *out)
{
	struct statx file;
	struct stat tmp;

	if (statx(tmp_fd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &file) ||
	    !S_ISREG(file.stx_mode) || fstat(tmp_fd, &tmp))
		return false;
	*is_mount = file.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	*out = *is_mount ? tmp.st_mtime : (time_t)file.stx_ctime.tv_sec;
	return true;
}

static void sweep_one(const struct process_root *t, const char *name)
{
	char path[32 + NAME_MAX];
	bool is_mount;
	time_t made;

	if (!when_made(t->tmp_fd, name, &is_mount, &made) || time(NULL) - made < SWEEP_AGE)
		return;
	/* In another mount namespace, removing the file also removes the mount. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", t->tmp_fd, name);
	if (is_mount && t->mnt_fd < 0)
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
	process_root_unlink(t, name);
}

void delivery_sweep(const struct process_root *t)
{
	int fd = openat(t->tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (is_delivery(e->d_name))
			sweep_one(t, e->d_name);
}
