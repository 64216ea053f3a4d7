/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the file behind a mapping of another process. */
#pragma once

#include "proc/mapping.h"

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
