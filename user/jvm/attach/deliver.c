/* SPDX-License-Identifier: Apache-2.0 */
/* Makes our agent's file visible to a target, and removes what killed attaches have left. */
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
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/log.h"
#include "base/types.h"
#include "jvm/attach/agent_file.h"
#include "jvmmap/wire.h"
#include "proc/target_file.h"
#include "sandbox/rights.h"

#define PREFIX  ".jvmmap-"
#define SUFFIX  ".so"
#define OLD_AGE 60 /* s; an attach is aborted after 15 */

/* The name of the file with these 32 hexadecimal digits: a digest of the agent, or a nonce. */
static void leftover_name(const char *digits, char out[64])
{
	snprintf(out, 64, PREFIX "%s" SUFFIX, digits);
}

/* Whether it is such a name. Only sysflame makes them. */
static bool leftover_is_name(const char *name)
{
	const size_t prefix = strlen(PREFIX);

	return !strncmp(name, PREFIX, prefix) &&
	       strspn(name + prefix, "0123456789abcdef") == WIRE_NONCE_LEN &&
	       !strcmp(name + prefix + WIRE_NONCE_LEN, SUFFIX);
}

/*
 * Makes an empty file in the target's /tmp and locks it until the descriptor is closed everywhere.
 * Without locks in that file system it becomes a leftover after a minute. -EEXIST if the name is
 * taken.
 */
static int leftover_create(const struct process_root *t, const char *name)
{
	auto_close int fd = process_root_create(t, name, 0500);
	struct stat st;

	if (fd < 0)
		return fd;
	/*
	 * Between openat and flock another attach may take the file for a leftover, and then holds
	 * the lock.
	 */
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

/* Removes our file, and a mount over it that we could not take off. */
static void leftover_remove(const struct process_root *t, const char *name)
{
	unmount(t, name);
	process_root_unlink(t, name);
}

/* Opens the file that the target reads under this name: of a mount, the mounted file. */
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

/*
 * Removes a leftover. The lock keeps others from removing it at the same time, and a new attach
 * from using its name.
 */
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

/* Locks the file as long as this process lives. */
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

/*
 * Makes the file, checks it, and returns a descriptor of a read-only mount of it that is not yet
 * attached anywhere; or a negative errno. Locks the file (flock) for as long as the caller lives.
 * Leaves the caller in another mount namespace: it runs in a child without threads. Needs
 * CAP_SYS_ADMIN and Linux 5.12.
 */
static int private_file_mount(const char *bytes, size_t len)
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

struct agent_bytes {
	char *at;
	size_t len;
};

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

/*
 * Mounts a private copy over `file`: in the target's mount namespace, or in ours if the target is
 * in a chroot of it. Returns 0 or a negative errno.
 */
static int mount_copy(const struct process_root *t, const struct agent_bytes *agent, int file)
{
	auto_close int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return -errno;
	auto_close int tree = private_file_mount(agent->at, agent->len);
	if (tree < 0)
		return tree;
	if (setns(t->mnt_fd >= 0 ? t->mnt_fd : own, CLONE_NEWNS) || fchdir(t->tmp_fd) ||
	    move_mount(tree, "", file, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH))
		return -errno;
	return 0;
}

/*
 * The child in the target's mount namespace. It mounts, reports an errno as one int, and unmounts
 * when its parent writes to `hold`. If `hold` is closed without a write, the parent has died, and
 * the child also removes the file. (A parent's files are closed before it stops being the parent.)
 * The child also holds the lock of the file below the mount.
 */
static void run_mounter(const struct process_root *t, const char *name,
			const struct agent_bytes *agent, int file, int ready, int hold)
{
	int err = -mount_copy(t, agent, file);
	ssize_t nr = 0;
	char c;

	bool is_reported = write(ready, &err, sizeof(err)) == sizeof(err);
	if (err)
		_exit(1);
	while (is_reported && (nr = read(hold, &c, 1)) < 0 && errno == EINTR)
		;
	umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW);
	if (nr <= 0)
		process_root_unlink(t, name);
	_exit(0);
}

static int start_mounter(const struct process_root *t, const struct agent_bytes *agent, int file,
			 struct delivery *d)
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
		run_mounter(t, d->name, agent, file, ready[1], hold[0]);
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

static int mount_there(const struct process_root *t, const struct agent_bytes *agent,
		       struct delivery *d)
{
	if (!capability_has(CAP_SYS_ADMIN))
		return -EPERM;
	auto_close int made = leftover_create(t, d->name);
	if (made < 0)
		return made;
	auto_close int file = openat(t->tmp_fd, d->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int err = file < 0 ? -errno : start_mounter(t, agent, file, d);
	if (err)
		process_root_unlink(t, d->name);
	else
		d->lock_fd = take_fd(made);
	return err;
}

static int copy_there(const struct process_root *t, const struct agent_bytes *agent,
		      struct delivery *d)
{
	/* A failed dlopen leaks memory in the target: check first. */
	if (is_noexec(t->tmp_fd))
		return -ENOEXEC;
	auto_close int to = leftover_create(t, d->name);
	if (to < 0)
		return to;
	for (size_t done = 0; done < agent->len;) {
		ssize_t put = write(to, agent->at + done, agent->len - done);
		if (put <= 0) {
			int err = put < 0 ? -errno : -EIO;
			process_root_unlink(t, d->name);
			return err;
		}
		done += (size_t)put;
	}
	d->lock_fd = take_fd(to);
	return 0;
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

static int put_there(const struct process_root *t, const struct agent_bytes *agent,
		     const char *digits, enum delivery_way way, struct delivery *d)
{
	int err = -EPERM;

	leftover_name(digits, d->name);
	snprintf(d->path, sizeof(d->path), "/tmp/%s", d->name);
	if (way != DELIVERY_COPY)
		err = mount_there(t, agent, d);
	if (way == DELIVERY_COPY || (way != DELIVERY_MOUNT && err && err != -EEXIST))
		err = copy_there(t, agent, d);
	return err;
}

/*
 * glibc identifies a library by the path from which it was loaded. The same build has the same path
 * in every attach, so the JVM recognises the agent though the file is another one.
 */
static void agent_digest(const char *agent, size_t len, char out[WIRE_NONCE_LEN + 1])
{
	u8 key[SIPHASH_KEY_LEN] = { WIRE_ABI };
	u64 digest[2];

	for (u8 i = 0; i < 2; i++) {
		key[1] = i;
		digest[i] = siphash(key, agent, len);
	}
	snprintf(out, WIRE_NONCE_LEN + 1, "%016llx%016llx", (unsigned long long)digest[0],
		 (unsigned long long)digest[1]);
}

int deliver(const struct process_root *t, const char *agent_path, const char *nonce,
	    enum delivery_way way, struct delivery *out, struct str *why)
{
	struct delivery d = { .hold_fd = -1, .lock_fd = -1 };
	int err = -EINVAL;

	if (way == DELIVERY_BEST && strlen(agent_path) < sizeof(d.path) &&
	    sees_our_path(t, agent_path)) {
		strcpy(d.path, agent_path);
		*out = d;
		return 0;
	}
	struct agent_bytes agent = { 0 };
	char stable[WIRE_NONCE_LEN + 1];
	err = agent_file_read(agent_path, &agent.at, &agent.len);
	if (!err) {
		agent_digest(agent.at, agent.len, stable);
		err = put_there(t, &agent, stable, way, &d);
	}
	if (err == -EEXIST)
		err = put_there(t, &agent, nonce, way, &d);
	free(agent.at);
	if (err)
		explain(err, why);
	else
		*out = d;
	return err;
}

void delivery_undo(const struct process_root *t, struct delivery *d)
{
	if (d->mounter) {
		if (write(d->hold_fd, "", 1) < 0)
			log_debug("the process that mounted %s has ended", d->name);
		close(d->hold_fd);
		waitpid(d->mounter, NULL, 0);
		d->mounter = 0;
	}
	if (*d->name)
		leftover_remove(t, d->name); /* the mounter may have been killed */
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	d->lock_fd = -1;
	d->name[0] = '\0';
}

void delivery_path_of(const char *nonce, char out[DELIVERY_PATH_MAX])
{
	char name[64];

	leftover_name(nonce, name);
	snprintf(out, DELIVERY_PATH_MAX, "/tmp/%s", name);
}

void delivery_path(const char *agent, size_t len, char out[DELIVERY_PATH_MAX])
{
	char digits[WIRE_NONCE_LEN + 1];

	agent_digest(agent, len, digits);
	delivery_path_of(digits, out);
}

bool delivery_is_path(const char *path)
{
	const size_t folder = strlen("/tmp/");

	return !strncmp(path, "/tmp/", folder) && leftover_is_name(path + folder);
}
