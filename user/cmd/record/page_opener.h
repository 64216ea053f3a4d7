/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that opens the page in a browser, as the user who called sudo. It is forked before the
 * recorder gives up its rights, because a recorder cannot execute programs. It serves one request,
 * and takes nothing from the recorder but the name of a file in one folder.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"

/* The user whose browser opens the page, and the environment that it gets. */
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

/* Whether the name is one of a page: it ends in .html. */
bool page_opener_is_page(const char *path);

struct page_opener {
	int fd; /* 0: no process was started */
	pid_t pid;
};

/* Starts the process for files in the folder of `path`. A negative errno if it cannot start. */
int page_opener_start(const char *path, struct page_opener *out);

/*
 * Has the file opened. 0 if xdg-open runs, or has ended without an error. Otherwise *why gets the
 * reason.
 */
int page_opener_open(struct page_opener *p, const char *path, struct str *why);

/* Ends the process. */
void page_opener_fini(struct page_opener *p);
