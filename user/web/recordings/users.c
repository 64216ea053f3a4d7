/* SPDX-License-Identifier: Apache-2.0 */
/* Names of users. */
#include "web/recordings/users.h"

#include <pwd.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/str.h"

#define USERS_MAX      10000
#define NAME_MAX_BYTES 64

void users_read(struct users *u)
{
	auto_fclose FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p;

	while (f && u->list.nr < USERS_MAX && (p = fgetpwent(f)))
		if (utf8_is_clean(p->pw_name, NAME_MAX_BYTES))
			vec_push(&u->list, (struct user_name){ p->pw_uid, xstrdup(p->pw_name) });
}

void users_fini(struct users *u)
{
	vec_each(user, &u->list)
		free(user->name);
	vec_fini(&u->list);
}

const char *users_name(const struct users *u, uid_t uid)
{
	for (size_t i = 0; i < u->list.nr; i++)
		if (u->list.at[i].uid == uid)
			return u->list.at[i].name;
	return NULL;
}
