/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that recordings want from the agent of one JVM. The agent has one session for all of
 * them, which reports with the finest settings.
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"
#include "jvm/attach/agent_hooks.h"

struct hook_request {
	const struct agent_hooks *hooks; /* the owner's, and its identity */
	/* hooks of this request that do not fit beside the other requests */
	u32 left_out;
	/* hooks reported to the owner as unserved, and still unserved */
	u32 returned;
	/* the reason reported last; NULL: the reason of the entry */
	char *why;
};

struct hook_requests {
	VEC(struct hook_request) all;
	struct agent_hooks merged; /* of all */
	struct agent_hooks sent;   /* by the last command */
	bool is_sent;              /* no command failed since */
	u64 since_ns[AGENT_HOOKS]; /* when the agent began to report; 0: it does not */
	u64 next_ns;               /* no command before */
	int failures;              /* of commands for `merged` */
};

void hook_requests_fini(struct hook_requests *q);

/* Returns false if `hooks` was there already. */
bool hook_requests_add(struct hook_requests *q, const struct agent_hooks *hooks);
void hook_requests_remove(struct hook_requests *q, const struct agent_hooks *hooks);

/* Whether to send a command: the agent reports other events than requested. False after three
 * failures. */
bool hook_requests_wait(const struct hook_requests *q);

/* Call it when a command with `merged` is sent. */
void hook_requests_send(struct hook_requests *q);

/* The command failed. The next one is sent after a pause. */
void hook_requests_fail(struct hook_requests *q, u64 now_ns);

/*
 * The command succeeded at `now_ns`: the agent reports the events in `sent`, except for
 * `left_out`, a mask of hooks.
 */
void hook_requests_succeed(struct hook_requests *q, u64 now_ns, u32 left_out);

/* Makes hook_requests_wait ask for the last command again. */
void hook_requests_repeat(struct hook_requests *q);

/* The agent's session has ended. */
void hook_requests_reset(struct hook_requests *q);

/* The hooks that no command could turn on. */
u32 hook_requests_failed(const struct hook_requests *q);

/* The request of that owner; NULL if it has none. */
struct hook_request *hook_requests_find(const struct hook_requests *q,
					const struct agent_hooks *hooks);
