/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a process may open from now on: landlock(7). */
#pragma once

#include "base/types.h"

/* A file or folder with everything below it. */
struct file_grant {
	const char *path; /* NULL: `fd`; a missing one is no error */
	int fd;           /* of a folder that the caller has open */
	bool writes;      /* also to write, create and remove files and folders */
};

/*
 * Denies everything else to this process. Descriptors that are open stay usable. Needs NoNewPrivs.
 * -ENOSYS or -EOPNOTSUPP: the kernel has no Landlock.
 */
int file_filter_load(const struct file_grant *grants, size_t nr);
