/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of the web process: seccomp(2), landlock(7). */
#include "web/confine.h"

#include <errno.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "base/types.h"
#include "proc/rights.h"

int web_confine(int dir, const char *fleet_dir)
{
	/* The C library reads some of these for names and times. */
	const struct file_grant grants[] = {
		{ .fd = dir, .writes = true },     { .path = "/etc/passwd" },
		{ .path = "/etc/nsswitch.conf" },  { .path = "/etc/localtime" },
		{ .path = "/usr/share/zoneinfo" }, { .path = fleet_dir },
	};
	int err = privileges_keep(PRIVILEGED_WEB, 0);

	if (err)
		return err;
	if (prctl(PR_SET_DUMPABLE, 0))
		return -errno;
	err = file_filter_load(grants, ARRAY_SIZE(grants) - !fleet_dir);
	if (err == -ENOSYS || err == -EOPNOTSUPP)
		log_info("the kernel has no Landlock; the web process's user limits its files");
	else if (err)
		return err;
	return call_filter_load(PRIVILEGED_WEB);
}
