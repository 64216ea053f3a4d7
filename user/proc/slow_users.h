/* SPDX-License-Identifier: Apache-2.0 */
/* Users whose processes keep the recorder waiting; each has a budget for it. */
#pragma once

#include "base/types.h"
#include "base/vec.h"

struct slow_user {
	uid_t user;
	u64 since_ns, waited_ns;
};

struct slow_users {
	VEC(struct slow_user) all;
};

/* Notes that a process of the user kept the recorder waiting for that long. */
void slow_users_charge(struct slow_users *s, uid_t user, u64 ns);

/* Whether the user has taken more than 1 s, and 5 % of the time since the first charge. */
bool slow_users_is_over(const struct slow_users *s, uid_t user);

void slow_users_fini(struct slow_users *s);
