/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of each user have taken of the agents' places, time and memory. */
#pragma once

#include "jvm/agent/agents_entry.h"

/* Adds an unknown user. Valid until the next call for another one. */
static inline struct agents_user *users_find(struct agents *a, uid_t uid)
{
	vec_each(u, &a->users)
		if (u->uid == uid)
			return u;
	vec_push(&a->users, (struct agents_user){ .uid = uid });
	return &a->users.at[a->users.nr - 1];
}
