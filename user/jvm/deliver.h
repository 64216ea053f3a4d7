/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes our agent's file visible to a target for as long as its dynamic linker needs it: by its own
 * path where both see the same files; else by a read-only bind mount of the one host file over
 * an empty file in the target's /tmp, so that nothing of ours can be changed there, noexec does not
 * matter, and the JVM knows a second load of the same file as such; else by a copy.
 */
#pragma once

#include "base/str.h"
#include "jvm/target.h"

#define DELIVERY_PATH_MAX 512

enum delivery_way {
	DELIVERY_BEST,
	DELIVERY_APART, /* not by its own path, by which the target may know another file */
	DELIVERY_MOUNT,
	DELIVERY_COPY, /* these two for tests: only that way */
};

struct delivery {
	char path[DELIVERY_PATH_MAX]; /* as the target sees it */
	char name[64];                /* of our file in its /tmp; "" if there is none */
	pid_t mounter;                /* holds the mount until hold_fd is closed; 0: no mount */
	int hold_fd;
};

/* Negative errno and "reason; what to do" in `why` if there is no way. */
int deliver(const struct target *t, const char *agent_path, const char *nonce,
	    enum delivery_way way, struct delivery *out, struct str *why);

/* Takes everything away again; what the target has loaded stays loaded. */
void delivery_undo(const struct target *t, struct delivery *d);

/* Takes away what nobody undid, because all who could were killed. */
void delivery_sweep(const struct target *t);

/* The name of the file that belongs to a nonce. */
void delivery_name(const char *nonce, char out[64]);
