/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket that connects a recorder and a web process which have a supervisor each, as in two
 * containers of a pod. It lies in a folder that both can reach. The recorder's side listens. The
 * side of the web process connects, and connects again after each end of the connection. Both
 * check the user at the other end (SO_PEERCRED).
 */
#pragma once

#include <sys/types.h>

#include "base/str.h"

struct rendezvous;

/* For the recorder: takes connections of that user, of root, and of this process's user. */
int rendezvous_listen(const char *path, uid_t uid, struct rendezvous **out, struct str *why);

/* For the web process: connects to a recorder of root or of this process's user. */
int rendezvous_new(const char *path, struct rendezvous **out, struct str *why);

/* Removes the socket that rendezvous_listen made. Accepts NULL. */
void rendezvous_free(struct rendezvous *m);

/* In a child: closes the descriptors, and leaves the socket to the parent. */
void rendezvous_close(struct rendezvous *m);

/*
 * A new connection, which the caller owns; -EAGAIN if nobody connected. Call it several times a
 * second.
 */
int rendezvous_accept(struct rendezvous *m);

/* The connection cannot be used any longer: the web process's side makes another. */
void rendezvous_drop(struct rendezvous *m);
