/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only way to open a file that a process chose by its paths, links or mappings. Such a path may
 * lead to a device, to a file of the kernel whose reading has effects, or to a file that the
 * process may not read itself. All functions open regular files only, and none of the kernel's file
 * systems (base/file.h). Opening never waits for a pipe or for a lease. tests/lint/layers fails on
 * code that opens such files in another way.
 */
#pragma once

#include <sys/types.h>

#include "base/types.h"
#include "proc/mapping.h"

/* A root folder, and the ids with which files below it are opened. */
struct target_root {
	int fd;
	uid_t uid;
	gid_t gid;
};

/* The root of a process, with its ids. -ESRCH, -EACCES or -EPERM. */
int target_root_open(pid_t pid, struct target_root *out);

/* Our root, with other ids: for files whose paths the kernel shows as we see them. */
int target_root_open_ours(uid_t uid, gid_t gid, struct target_root *out);
/* Our root, with the ids of the owner of an open file. */
int target_root_open_owner(int fd, struct target_root *out);
void target_root_close(struct target_root *root);

/*
 * Opens a file for reading as the process would: with its ids, and links, also absolute ones, stay
 * within its root. Without CAP_SETUID and CAP_SETGID it opens with our ids. In both cases the
 * file's mode must admit the process: others read nothing through us that they could not read
 * themselves. -EACCES, -ENOEXEC if the file is not regular, or another negative errno.
 */
int target_file_open(const struct target_root *root, const char *path);

/*
 * For a process that only opens files: it is killed when its parent ends, also while it has the ids
 * of another process. Ends it now if `parent` has ended.
 */
void target_file_tie(pid_t parent);

/* The inode at a path below the root, without opening the file; 0 if there is none. */
u64 target_file_inode(const struct target_root *root, const char *path);

/*
 * Opens with our ids a file whose path has no links. The caller checks that the file is the
 * expected one: perf maps by their owner, mapped files by their inode.
 */
int target_file_open_unlinked(const struct target_root *root, const char *path);

/* Opens a folder of a root without reading it (O_PATH). */
int target_folder_open(int root_fd, const char *path);

/*
 * Opens a descriptor of a process for reading and writing if it is a memfd of user `owner` that is
 * sealed against changes of its size, and whose name starts with `name`. `dir_fd` is the process's
 * /proc/PID/fd. Nothing is opened for writing before that is proven. -ENOENT if it is another file.
 */
int target_memfd_open(int dir_fd, const char *entry, const char *name, uid_t owner);

/*
 * Returns a descriptor of the regular file that `m` of process `pid` maps, or a negative errno.
 * -ENOENT: not found (the process is gone, or the file was deleted and /proc/PID/map_files is not
 * accessible). -ESTALE: another file is there now. -ENOEXEC: not a regular file. Also -EACCES or
 * -EPERM.
 *
 * /proc/PID/map_files (CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN) also finds files that were deleted
 * or replaced, or are in another mount namespace or chroot. Next the path is tried in the process's
 * root, then in ours; after the process's end only ours is left. A file found by its path must have
 * the mapping's inode and device. On overlayfs and btrfs the device may differ, because stat(2) and
 * /proc/PID/maps report different ones.
 */
int mapped_file_open(pid_t pid, const struct mapping *m);

/* Ancestors of a process that may still run, the nearest first; the rest is 0. */
#define ANCESTORS_MAX 8
struct ancestors {
	pid_t at[ANCESTORS_MAX];
};

/*
 * The process that has mapped a file. After its end nothing leads to its root. An ancestor mostly
 * has the same root: a compiler's shell is in the same container. The nearest one, as the driver of
 * a compiler, often ends at the same moment.
 */
struct mapper {
	pid_t pid;
	struct ancestors ancestors;
};

/* As mapped_file_open; after the process's end it tries the path in an ancestor's root, too. */
int mapped_file_open_by(const struct mapper *by, const struct mapping *m);

/* Opens debug files for a module: the worker that reads it asks by worker_open. */
struct debug_opener;

/* The caller frees the result with free(). `root` is DEBUG_ROOT of elf/debugfile.h. */
struct debug_opener *debug_opener_new(const char *root, pid_t pid, uid_t owner);

/* A worker_open_fn. */
int debug_opener_open(void *opener, u32 place, const char *path);
