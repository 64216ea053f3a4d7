/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a file that someone else made. */
#pragma once

#include <sys/stat.h>

/*
 * fstat(2) by what the kernel knows already: a file system whose server does not answer cannot hold
 * us up. Does not fill in st_rdev, st_blksize and the time of the last access. Returns a negative
 * errno.
 */
int file_status(int fd, struct stat *out);
