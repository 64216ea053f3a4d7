/* SPDX-License-Identifier: Apache-2.0 */
/* Names of users, read once: later the web process may not open /etc/passwd. */
#pragma once

#include "base/vec.h"

struct user_name {
	uid_t uid;
	char *name; /* owned */
};

struct users {
	VEC(struct user_name) list;
};

void users_read(struct users *u);
void users_fini(struct users *u);

/* NULL if the user has none. */
const char *users_name(const struct users *u, uid_t uid);
