/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the fleet's budget of CPU time over restarts. */
#include "web/fleet_budget.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "fleet/member.h"

#define NAME     "fleet.budget"
#define NAME_NEW "fleet.budget.new"
#define WORTH_NS (50 * NS_PER_MS) /* a smaller change is not written */

/* A clock that was set back refills nothing. */
static u64 read_left(int dir, u32 nr_cpus)
{
	auto_close int fd = openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[64] = "";
	u64 left_ns, wall_ns, now_ns = time_wall_ns();

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &left_ns, &wall_ns) != 2)
		return UINT64_MAX;
	return budget_refilled(nr_cpus, left_ns, now_ns > wall_ns ? now_ns - wall_ns : 0);
}

static void write_left(int dir, u64 left_ns)
{
	auto_close int fd =
		openat(dir, NAME_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	char text[64];
	int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\n", left_ns,
			   (u64)time_wall_ns());

	if (fd < 0 || write(fd, text, (size_t)len) != len || fsync(fd) ||
	    renameat(dir, NAME_NEW, dir, NAME))
		log_warn("fleet: the budget of CPU time is not kept over a restart: %s: %m", NAME);
}

void fleet_budget_tick(struct fleet_budget *b, struct member *n, u32 nr_cpus)
{
	if (!nr_cpus)
		return;
	if (!b->is_read) {
		b->is_read = true;
		member_set_budget(n, nr_cpus, read_left(b->dir, nr_cpus));
		b->left_ns = member_budget_left(n);
	}
	u64 left_ns = member_budget_left(n);
	/* It grows all the time; only what was taken must survive. */
	if (left_ns + WORTH_NS > b->left_ns && left_ns < b->left_ns + 100 * WORTH_NS)
		return;
	b->left_ns = left_ns;
	write_left(b->dir, left_ns);
}
