/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that an attach leaves in a target's /tmp if all its processes are killed. An attach locks
 * its file (flock) as long as one of its processes lives. A file whose lock is free is a leftover.
 */
#pragma once

#include "jvm/process/process_root.h"

/* The name of the file with these 32 hexadecimal digits: a digest of the agent, or a nonce. */
void leftover_name(const char *digits, char out[64]);

/* Whether it is such a name. Only sysflame makes them. */
bool leftover_is_name(const char *name);

/*
 * Makes an empty file in the target's /tmp and locks it until the descriptor is closed everywhere.
 * Without locks in that file system it becomes a leftover after a minute. -EEXIST if the name is
 * taken.
 */
int leftover_create(const struct process_root *t, const char *name);

/* Removes our file, and a mount over it that we could not take off. */
void leftover_remove(const struct process_root *t, const char *name);

/* Removes all leftovers from the target's /tmp. */
void leftovers_remove(const struct process_root *t);
