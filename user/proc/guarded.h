/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of its own for a library that the daemon does not trust, with a socket to the one that
 * started it. A small process above it starts it again after a crash: the web process may not fork.
 */
#pragma once

#include "base/types.h"

/* Serves until the other end of `sock` (SOCK_SEQPACKET) is closed. Returns an exit status. */
typedef int (*guarded_fn)(int sock, const void *ctx);

/*
 * Starts both processes; they see the memory as it is now. No other descriptor stays open in them.
 * *sock does not block; closing it ends them. A status other than 0 is a crash. Negative errno.
 */
int guarded_start(guarded_fn run, const void *ctx, int *sock);

/*
 * Takes all rights from this process but those that a client of the network needs: to connect, to
 * start threads, and to read the files of name resolution and certificates, and `dir`, which may be
 * NULL. Negative errno.
 */
int guarded_confine(const char *dir);
