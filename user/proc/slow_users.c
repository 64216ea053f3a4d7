/* SPDX-License-Identifier: Apache-2.0 */
/* Users whose processes keep the recorder waiting; each has a budget for it. */
#include "proc/slow_users.h"

#include "base/time.h"

#define USERS_MAX  256
#define WAIT_NS    NS_PER_SEC /* budget of a user .. */
#define WAIT_SHARE 20         /* .. and in addition 1/20 of the time */

static struct slow_user *find(const struct slow_users *s, uid_t user)
{
	vec_each(u, &s->all)
		if (u->user == user)
			return u;
	return NULL;
}

bool slow_users_is_over(const struct slow_users *s, uid_t user)
{
	const struct slow_user *u = find(s, user);

	return u && u->waited_ns > WAIT_NS + (time_mono_ns() - u->since_ns) / WAIT_SHARE;
}

void slow_users_charge(struct slow_users *s, uid_t user, u64 ns)
{
	struct slow_user *u = find(s, user);

	if (!u && s->all.nr == USERS_MAX) {
		u = &s->all.at[0];
		vec_each(other, &s->all)
			u = other->waited_ns < u->waited_ns ? other : u;
		*u = (struct slow_user){ user, time_mono_ns(), 0 };
	} else if (!u) {
		vec_push(&s->all, ((struct slow_user){ user, time_mono_ns(), 0 }));
		u = &s->all.at[s->all.nr - 1];
	}
	u->waited_ns += ns;
}

void slow_users_fini(struct slow_users *s)
{
	vec_fini(&s->all);
}
