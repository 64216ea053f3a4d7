/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM process that is about to be attached to, with everything that is needed of it opened
 * beforehand: once we act with its ids, /proc does not let us in any more.
 */
#pragma once

#include "base/types.h"
#include "proc/status.h"

struct target {
	struct proc_status status;
	u64 program_ns; /* when it executed its program, for all that is known; CLOCK_BOOTTIME */
	int pidfd;
	int proc_fd;       /* /proc/PID */
	int root_fd;       /* its root, O_PATH */
	int tmp_fd;        /* its /tmp, O_PATH */
	int mnt_fd;        /* its mount namespace; -1 if it is ours */
	bool has_our_root; /* a path means the same file to it and to us */
	s64 clock_off_ns;  /* our CLOCK_MONOTONIC minus its */
	uid_t own_uid;
	gid_t own_gid;
	gid_t *own_groups;
	size_t nr_own_groups;
};

/*
 * Opens process `pid` if it still is the one that started at start_ns. -ESRCH if it is gone,
 * -EACCES or -EPERM if we may not look into it, -ENOTDIR or -ENOENT if it has no /tmp.
 */
int target_open(pid_t pid, u64 start_ns, struct target *out);

/* Only what target_open_file needs, of whatever process has this PID. */
int target_open_root(pid_t pid, struct target *out);
void target_close(struct target *t);

/* Acts with the target's ids, so that we can do nothing to files that it could not; and as before.
 */
int target_become(const struct target *t);
void target_unbecome(const struct target *t);

/*
 * Opens a path for reading as the target would: links, also absolute ones, stay within its root.
 * `path` may be relative to its root or absolute. -ENOEXEC if it is no regular file: what a path of
 * someone else leads to may be a device, which does something when it is opened.
 */
int target_open_file(const struct target *t, const char *path);

/* The inode at such a path, which is not opened for that; 0 if there is none. */
u64 target_inode(const struct target *t, const char *path);

/* Makes an empty file in its /tmp, owned by it; -EEXIST if the name is taken, by whatever. */
int target_create(const struct target *t, const char *name, mode_t mode);
void target_unlink(const struct target *t, const char *name);
