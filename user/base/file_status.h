/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a file that someone else made. */
#pragma once

#include <sys/stat.h>

/*
 * fstat(2) from the attributes that the kernel has cached: it does not wait for the server of a
 * file system. Leaves st_rdev, st_blksize and st_atim unset. Returns a negative errno.
 */
int file_status(int fd, struct stat *out);
