/* SPDX-License-Identifier: Apache-2.0 */
/* The user whose browser opens a page, and the environment that it gets. */
#pragma once

#include "base/str.h"
#include "base/types.h"

struct page_user {
	uid_t uid;
	gid_t gid;
	char *name, *home; /* owned; NULL if the process runs as this user anyway */
};

/*
 * The user who called sudo if this process runs as root, else its own. -EPERM with a sentence in
 * *why if root's browser would have to be used.
 */
int page_user_find(struct page_user *out, struct str *why);
void page_user_fini(struct page_user *u);

/*
 * The environment for a program of that user, ended by NULL; the caller frees it with its strings.
 * Of the present one it has the display, the language and the desktop only.
 */
char **page_user_environment(const struct page_user *u);

/* Gives up all other ids, groups and capabilities for good. A negative errno if any is left. */
int page_user_become(const struct page_user *u);
