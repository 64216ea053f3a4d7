/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a file that someone else made. */
#include "base/file_status.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

int file_status(int fd, struct stat *out)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
		return -errno;
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
