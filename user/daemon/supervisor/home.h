/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's directory. It is root's and sticky: the web process's user may add its own files,
 * but not replace those that the supervisor writes.
 *
 *   DIR/token, DIR/token.viewer   tokens for the login of operators and viewers; 0600
 *   DIR/address                   where the daemon that runs listens: its URL; or "unix:PATH" and,
 *                                 on a second line, its prefix
 *   DIR/daemon.lock               held by the daemon that runs
 *   the rest is the store's (store/store.h)
 */
#pragma once

#include "base/str.h"
#include "base/types.h"

#define TOKEN_LEN 43 /* characters; 256 bits in base64url */

struct home {
	int dir;  /* -1: not open */
	int lock; /* of DIR/daemon.lock */
	char operator_token[TOKEN_LEN + 1], viewer_token[TOKEN_LEN + 1];
};

/*
 * Opens the directory, and makes it and its tokens if they are missing. `user` and `group` are
 * those of the web process. Group and mode of a directory change only if it is empty or a daemon
 * has had it: otherwise -ENOTEMPTY. -EPERM if another user owns it or all users may write.
 * -EBUSY if a daemon runs on it; `why` gets a sentence.
 */
int home_open(const char *path, uid_t user, gid_t group, struct home *out, struct str *why);
void home_close(struct home *h);

/*
 * Root makes the directory for a daemon of another user, or gives it one that is empty and root's.
 * Otherwise -EPERM. A directory of that user stays as it is.
 */
int home_give(const char *path, uid_t user, gid_t group, struct str *why);

/*
 * Takes those of the files `token` and `token.viewer` that the folder has instead of the
 * directory's, as where a cluster gives all daemons the same. -ENOENT if it has neither; -EPERM if
 * others than root, this user and the file's group may read one.
 */
int home_read_tokens(const char *folder, struct home *h, struct str *why);

/* Writes DIR/address; "" removes it. */
int home_set_address(const struct home *h, const char *address);

/*
 * The address and the operator's token of the daemon that runs on the directory. -ENOENT if none
 * runs; -EPERM if others could have read or written the files.
 */
int home_read_link(const char *path, struct str *address, char token[TOKEN_LEN + 1],
		   struct str *why);
