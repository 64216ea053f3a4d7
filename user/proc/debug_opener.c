/* SPDX-License-Identifier: Apache-2.0 */
/* Opens debug files for workers. */
#include "proc/debug_opener.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "elf/debugfile.h"
#include "proc/target_file.h"

struct debug_opener {
	pid_t pid;
	uid_t owner;
	char root[];
};

int debug_opener_open(void *ctx, u32 place, const char *path)
{
	const struct debug_opener *opener = ctx;
	struct target_root root;

	if (place != DEBUG_IN_PROCESS)
		return debugfile_open_host(opener->root, place, path);
	int err = target_root_open(opener->pid, &root);
	if (err)
		return err;
	auto_close int fd = target_file_open(&root, path);
	target_root_close(&root);
	return fd < 0 || debugfile_is_trusted(fd, opener->owner) ? take_fd(fd) : -EPERM;
}

struct debug_opener *debug_opener_new(const char *root, pid_t pid, uid_t owner)
{
	size_t len = strlen(root) + 1;
	struct debug_opener *opener = xmalloc(sizeof(*opener) + len);

	*opener = (struct debug_opener){ pid, owner };
	memcpy(opener->root, root, len);
	return opener;
}
