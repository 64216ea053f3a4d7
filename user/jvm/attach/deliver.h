/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes our agent's file visible to a target while its dynamic linker needs it. There are three
 * ways:
 * - its own path, if the target sees the same file there;
 * - a read-only mount of a private copy over an empty file in the target's /tmp. noexec does not
 *   matter. Whoever may remount it changes only this copy, which no other container uses;
 * - a copy in the target's /tmp.
 */
#pragma once

#include "base/str.h"
#include "jvm/process/process_root.h"

#define DELIVERY_PATH_MAX 512

enum delivery_way {
	DELIVERY_BEST,
	/* not by the agent's own path, under which the target may know another file */
	DELIVERY_APART,
	DELIVERY_MOUNT,
	DELIVERY_COPY, /* this and DELIVERY_MOUNT are for tests: no other way */
};

struct delivery {
	char path[DELIVERY_PATH_MAX]; /* as the target sees it */
	char name[64];                /* of our file in its /tmp; "" if none */
	pid_t mounter;                /* holds the mount until hold_fd is closed; 0: none */
	int hold_fd;
	int lock_fd; /* keeps others from removing the file */
};

/* Returns 0, or a negative errno with "reason; what to do" in `why` if no way works. */
int deliver(const struct process_root *t, const char *agent_path, const char *nonce,
	    enum delivery_way way, struct delivery *out, struct str *why);

/* Removes the file and the mount. A loaded library stays loaded. */
void delivery_undo(const struct process_root *t, struct delivery *d);

/*
 * The path in a target's /tmp at which an agent is put, the same for each file with these bytes.
 */
void delivery_path(const char *agent, size_t len, char out[DELIVERY_PATH_MAX]);

/* The path for the session with this nonce, used if the path of delivery_path was taken. */
void delivery_path_of(const char *nonce, char out[DELIVERY_PATH_MAX]);

/*
 * Whether the path, as in struct delivery, is one of a file that sysflame put into a target's /tmp.
 */
bool delivery_is_path(const char *path);

/*
 * Files that an attach leaves in a target's /tmp if all its processes are killed. An attach locks
 * its file (flock) as long as one of its processes lives. A file whose lock is free is a leftover.
 * Removes all of them.
 */
void leftovers_remove(const struct process_root *t);
