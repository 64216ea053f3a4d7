/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a file that someone else made. A header of its own: files that know the counters of
 * bpf/stat.h, an enum stat_id, cannot include sys/stat.h.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * fstat(2) from the attributes that the kernel has cached: it does not wait for the server of a
 * file system. Leaves st_rdev, st_blksize and st_atim unset. Returns a negative errno.
 */
static inline int file_status(int fd, struct stat *out)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
		return errno > 0 ? -errno : -EIO; /* never 0: compilers would miss *out */
	*out = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_size = (off_t)x.stx_size,
		.st_blocks = (blkcnt_t)x.stx_blocks,
		.st_mtim = { x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec },
		.st_ctim = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec },
	};
	return 0;
}
