/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the fleet's budget of CPU time in the daemon's directory, so that a restart refills
 * nothing. */
#pragma once

#include "base/types.h"

struct member;

struct fleet_budget {
	int dir;
	bool is_read;
	u64 left_ns; /* as written last */
};

/* Reads the file once the number of CPUs is known; afterwards writes what has changed. */
void fleet_budget_tick(struct fleet_budget *b, struct member *n, u32 nr_cpus);
