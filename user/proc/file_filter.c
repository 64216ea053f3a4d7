/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock. */
#include "proc/file_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE                                                             \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
	 LANDLOCK_ACCESS_FS_MAKE_DIR)
/* All rights of the first version of Landlock; those not granted are denied. */
#define ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

static int grant(int rules, int at, u64 access)
{
	const struct landlock_path_beneath_attr rule = { .allowed_access = access,
							 .parent_fd = at };

	return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int grant_path(int rules, const char *path)
{
	auto_close int at = open(path, O_PATH | O_CLOEXEC);

	/* A right for folders is refused for a file. */
	if (at >= 0 && grant(rules, at, READ))
		return grant(rules, at, LANDLOCK_ACCESS_FS_READ_FILE);
	return 0;
}

int file_filter_load(const struct file_grant *grants, size_t nr)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = ALL };
	auto_close int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (rules < 0)
		return -errno;
	for (size_t i = 0; i < nr; i++) {
		const struct file_grant *g = &grants[i];
		int err = g->path ? grant_path(rules, g->path)
				  : grant(rules, g->fd, READ | (g->writes ? WRITE : 0));
		if (err)
			return -errno;
	}
	return syscall(SYS_landlock_restrict_self, rules, 0) ? -errno : 0;
}
