/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of the web process: seccomp(2), landlock(7). */
#include "web/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/types.h"
#include "proc/call_filter.h"

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE                                                             \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
	 LANDLOCK_ACCESS_FS_MAKE_DIR)
/* All rights of the first version of Landlock; those not granted are denied. */
#define ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* Read by the C library for names and times. */
static const char *const readable[] = { "/etc/passwd", "/etc/nsswitch.conf", "/etc/localtime",
					"/usr/share/zoneinfo" };

static int grant(int rules, int at, u64 access)
{
	const struct landlock_path_beneath_attr rule = { .allowed_access = access,
							 .parent_fd = at };

	return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int restrict_files(int dir)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = ALL };
	auto_close int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (rules < 0)
		return -errno;
	if (grant(rules, dir, READ | WRITE))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(readable); i++) {
		auto_close int at = open(readable[i], O_PATH | O_CLOEXEC);
		/* A right for folders is refused for a file. */
		if (at >= 0 && grant(rules, at, READ))
			grant(rules, at, LANDLOCK_ACCESS_FS_READ_FILE);
	}
	return syscall(SYS_landlock_restrict_self, rules, 0) ? -errno : 0;
}

int web_confine(int dir)
{
	int err = privileges_keep(PRIVILEGED_WEB, 0);

	if (err)
		return err;
	if (prctl(PR_SET_DUMPABLE, 0))
		return -errno;
	err = restrict_files(dir);
	if (err == -ENOSYS || err == -EOPNOTSUPP)
		log_info("the kernel has no Landlock; the web process's user limits its files");
	else if (err)
		return err;
	return call_filter_load(PRIVILEGED_WEB);
}
