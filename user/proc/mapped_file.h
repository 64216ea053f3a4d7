/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the file behind a mapping of another process. */
#pragma once

#include "proc/mapping.h"

/*
 * Returns a descriptor of the regular file that `m` of process `pid` maps, or a negative errno:
 * -ENOENT if it cannot be found (the process is gone, or the file was deleted and
 * /proc/PID/map_files is closed to us), -ESTALE if another file lies there now, -ENOEXEC if it is
 * no regular file, -EACCES or -EPERM.
 *
 * /proc/PID/map_files (CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN) finds the file also where it was
 * deleted or replaced, or lies in another mount namespace or chroot; then the path is tried in
 * the process's root, then in ours, which is all there is once the process is gone. A file found
 * by its path must have the mapping's inode and device; the device may differ on overlayfs and
 * btrfs, where stat(2) and /proc/PID/maps speak of different ones.
 */
int mapped_file_open(pid_t pid, const struct mapping *m);
