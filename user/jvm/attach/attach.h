/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's attach protocol, version 1 (hotspot/os/posix/attachListener_posix.cpp and
 * jdk.attach/linux). JDK 8 to 28 understand it.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "jvm/attach/job.h"

#define ATTACH_ARGUMENT_MAX 1024 /* the JVM closes the connection on a longer one */

/* Makes the request that loads an agent library from an absolute path. -E2BIG beyond the limit. */
int attach_load_request(const char *path, const char *options, struct str *out);

enum attach_verdict {
	ATTACH_LOADED,   /* loaded, and the agent returned 0 */
	ATTACH_RETURNED, /* loaded, but the agent returned something else */
	ATTACH_REFUSED,  /* not loaded; the text has the JVM's reason, if any */
	ATTACH_GARBLED,  /* no reply, or an invalid one */
};

/* Parses the reply to a load. *text gets the line with the JVM's reason, "" if there is none. */
enum attach_verdict attach_load_reply(const char *reply, size_t len, struct str *text);

/*
 * Sends a request on a connected socket in one piece and reads the reply until the JVM closes the
 * connection. Waits at most timeout_ms. Returns 0, -ETIMEDOUT, or the socket's error.
 */
int attach_talk(int fd, const struct str *request, int timeout_ms, struct str *reply);

/*
 * Connects to the listener, and starts it first if the command permits that. Returns a connected
 * socket, or -1 after a conclusion.
 */
int listener_reach(struct job *j);
