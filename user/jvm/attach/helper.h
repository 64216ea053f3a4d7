/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attach helper: a process that forks the children that attach (injector.h) and the one that
 * opens files (proc/open_request.h). It starts before the recorder has read or opened anything and
 * alone keeps the capabilities for both (sandbox/rights.h). The helper ends with the recorder.
 * Children that attach end later: they first clean up in their JVM.
 */
#pragma once

#include "jvm/attach/inject.h"

struct helper;

/*
 * Starts the helper, which drops its rights meanwhile. `agent_path` as for agent_file_find. Orders
 * may be sent at once. helper_await waits until it carries them out; if that fails, free it.
 */
int helper_start(const char *agent_path, struct helper **out);
int helper_await(struct helper *h);

/* Closes our end, and with it the helper; waits no longer than that usually takes. Accepts NULL. */
void helper_free(struct helper *h);

/* Whether the helper was killed. */
bool helper_has_ended(struct helper *h);

/*
 * Forks a child for the order. The socket fds[0] gets its messages (inject.h). fds[1] is of
 * task_facts_open; -1: none. Both stay the caller's. *number names the child. Never blocks. -EPIPE
 * if the helper was killed, -EAGAIN if it does not answer.
 */
int helper_inject(struct helper *h, const struct inject_order *order, const int fds[2],
		  u64 *number);

/* Forks an opener that serves the socket. */
int helper_open(struct helper *h, int sock, u64 *number);

/* Kills a process that was forked for us, if it is still running. */
void helper_kill(struct helper *h, u64 number);
