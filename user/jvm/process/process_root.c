/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM process that is about to be attached to. */
#include "jvm/process/process_root.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "proc/blocking.h"
#include "proc/target_file.h"
#include "sandbox/rights.h"

/* Whether two files in /proc refer to the same namespace or folder. */
static bool is_same(int dir_a, const char *a, int dir_b, const char *b)
{
	struct stat st_a, st_b;

	return fstatat(dir_a, a, &st_a, 0) == 0 && fstatat(dir_b, b, &st_b, 0) == 0 &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

/* A line "monotonic SECONDS NANOSECONDS" is the offset of the namespace's clock. */
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

static int open_parts(struct process_root *t)
{
	t->root_fd = openat(t->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->root_fd < 0)
		return -errno;
	t->tmp_fd = target_folder_open(t->root_fd, "tmp");
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

static void keep_own_ids(struct process_root *t)
{
	int nr = getgroups(0, NULL);

	t->own_effective = capabilities_read();
	t->own_uid = geteuid();
	t->own_gid = getegid();
	t->own_groups = nr > 0 ? xcalloc((size_t)nr, sizeof(gid_t)) : NULL;
	nr = nr > 0 ? getgroups(nr, t->own_groups) : 0;
	t->nr_own_groups = nr > 0 ? (size_t)nr : 0;
}

/* Whether the process has ended. A zombie counts as ended: its root looks empty. */
static bool has_ended(int pidfd)
{
	struct pollfd polled = { pidfd, POLLIN, 0 };

	return poll(&polled, 1, 0) == 1;
}

int process_root_open(struct process_id id, struct process_root *out)
{
	struct process_root t = {
		.pidfd = -1, .proc_fd = -1, .root_fd = -1, .tmp_fd = -1, .mnt_fd = -1
	};
	char path[32];
	int err = excluded_touch(id.pid);

	if (err)
		return err;
	keep_own_ids(&t);
	/* Open the descriptor first: later checks then hold for this process. */
	t.pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);
	if (t.pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d", id.pid);
	t.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = t.proc_fd < 0 ? (errno == ENOENT ? -ESRCH : -errno)
			    : proc_status_read(id.pid, &t.status);
	if (!err && !process_id_same(proc_status_id(&t.status), id))
		err = -ESRCH;
	if (!err)
		err = open_parts(&t);
	if (process_root_become_if_denied(&t, err)) {
		err = open_parts(&t);
		process_root_unbecome(&t);
	}
	if (err) {
		err = has_ended(t.pidfd) ? -ESRCH : err;
		process_root_close(&t);
		return err;
	}
	t.program_ns = t.status.start_ns;
	t.clock_off_ns = read_clock_off(t.proc_fd);
	*out = t;
	return 0;
}

static bool has_our_user_namespace(pid_t pid)
{
	auto_free char *map = NULL, *own_map = NULL;
	char path[32];
	size_t len;

	/* Not the link ns/user, which requires the right to inspect the process. */
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	return file_read(path, 65536, &map, &len) ||
	       file_read("/proc/self/uid_map", 65536, &own_map, &len) || !strcmp(map, own_map);
}

/* A process that is not dumpable, or in a user namespace, admits only CAP_SYS_PTRACE. */
static bool is_open_to_its_user(const struct proc_status *status)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", status->pid);
	return (stat(path, &st) || st.st_uid == status->euid) &&
	       has_our_user_namespace(status->pid);
}

u64 process_root_capabilities(const struct proc_status *status)
{
	bool is_ours = status->euid == geteuid() && status->egid == getegid();
	bool is_plain = status->uid == status->euid && status->gid == status->egid;
	bool has_more = status->permitted & ~capabilities_read();
	bool is_open = is_plain && !has_more && is_open_to_its_user(status);

	return (is_ours ? 0 : CAPABILITY_IDS) | (is_open ? 0 : CAPABILITY(CAP_SYS_PTRACE));
}

void process_root_explain(pid_t pid, int err, struct str *why)
{
	struct proc_status status;

	str_clear(why);
	if (err == -ESRCH || proc_has_ended((struct process_id){ .pid = pid })) {
		str_add(why, "it has ended");
	} else if (err == -ENOENT || err == -ENOTDIR) {
		str_add(why, "it has no /tmp, so no JVM tool can attach; mount one");
	} else if ((err == -EACCES || err == -EPERM) && !proc_status_read(pid, &status)) {
		bool is_ours = status.euid == geteuid() && status.egid == getegid();
		u64 wanted = process_root_capabilities(&status);
		if (!(wanted & ~capabilities_read()))
			wanted |= CAPABILITY(CAP_SYS_PTRACE);
		str_addf(why, "it %s; ",
			 is_ours ? "lets only privileged processes look into it"
				 : "belongs to another user or container");
		capabilities_add_remedy(why, wanted);
	} else {
		str_addf(why, "it cannot be inspected (%s)", strerror(-err));
	}
}

void process_root_close(struct process_root *t)
{
	const int fds[] = { t->pidfd, t->proc_fd, t->root_fd, t->tmp_fd, t->mnt_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(t->own_groups);
}

static bool has_own_ids(const struct process_root *t)
{
	return t->status.euid == t->own_uid && t->status.egid == t->own_gid;
}

/*
 * Another user than root loses its capabilities by becoming root and itself again
 * (capabilities(7)).
 */
static bool must_keep_capabilities(const struct process_root *t)
{
	return t->own_uid && !t->status.euid;
}

/* Exits on failure, because continuing with wrong ids would be worse. */
static void take_own_ids(const struct process_root *t)
{
	bool keeps = must_keep_capabilities(t);

	if ((keeps && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)) ||
	    setresuid((uid_t)-1, t->own_uid, (uid_t)-1) ||
	    (keeps && capabilities_set(t->own_effective)) ||
	    setresgid((gid_t)-1, t->own_gid, (gid_t)-1) ||
	    setgroups(t->nr_own_groups, t->own_groups))
		_exit(1);
	if (keeps)
		prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
}

int process_root_become(const struct process_root *t)
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

bool process_root_become_if_denied(const struct process_root *t, int err)
{
	return (err == -EACCES || err == -EPERM) && !has_own_ids(t) && !process_root_become(t);
}

int process_root_open_proc(const struct process_root *t, const char *name, int flags)
{
	int fd = openat(t->proc_fd, name, flags | O_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	if (process_root_become_if_denied(t, err)) {
		fd = openat(t->proc_fd, name, flags | O_CLOEXEC);
		err = fd < 0 ? -errno : 0;
		process_root_unbecome(t);
	}
	return err ?: fd;
}

void process_root_unbecome(const struct process_root *t)
{
	if (!has_own_ids(t))
		take_own_ids(t);
}

int process_root_open_file(const struct process_root *t, const char *path)
{
	const struct target_root root = { t->root_fd, t->status.fsuid, t->status.fsgid };

	return target_file_open(&root, path);
}

bool process_root_is_blocked(const struct process_root *t, u32 owner, u32 mode)
{
	const uid_t user = t->status.euid;
	struct stat tmp;

	if (owner == user)
		return false;
	if (S_ISSOCK(mode))
		return owner != 0 || !(mode & S_IWOTH);
	return user != 0 && fstat(t->tmp_fd, &tmp) == 0 && tmp.st_mode & S_ISVTX &&
	       tmp.st_uid != user;
}

int process_root_create(const struct process_root *t, const char *name, mode_t mode)
{
	int err = process_root_become(t);

	if (err)
		return err;
	int fd =
		openat(t->tmp_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode);
	err = fd < 0 ? -errno : fd;
	process_root_unbecome(t);
	return err;
}

void process_root_unlink(const struct process_root *t, const char *name)
{
	if (process_root_become(t))
		return;
	unlinkat(t->tmp_fd, name, 0);
	process_root_unbecome(t);
}
