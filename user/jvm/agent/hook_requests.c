/* SPDX-License-Identifier: Apache-2.0 */
/* The events that recordings want from the agent of one JVM. */
#include "jvm/agent/hook_requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"

#define FAILURES_MAX 3
#define RETRY_NS     NS_PER_SEC /* before the first retry, then four times as long */

void hook_requests_fini(struct hook_requests *q)
{
	vec_each(r, &q->all)
		free(r->why);
	vec_fini(&q->all);
}

static void merge(struct hook_requests *q)
{
	q->merged = (struct agent_hooks){ 0 };
	vec_each(r, &q->all)
		r->left_out = agent_hooks_merge(&q->merged, r->hooks);
	q->failures = 0;
	q->next_ns = 0;
}

struct hook_request *hook_requests_find(const struct hook_requests *q,
					const struct agent_hooks *hooks)
{
	vec_each(r, &q->all)
		if (r->hooks == hooks)
			return r;
	return NULL;
}

bool hook_requests_add(struct hook_requests *q, const struct agent_hooks *hooks)
{
	if (hook_requests_find(q, hooks))
		return false;
	vec_push(&q->all, (struct hook_request){ .hooks = hooks });
	merge(q);
	return true;
}

void hook_requests_remove(struct hook_requests *q, const struct agent_hooks *hooks)
{
	struct hook_request *r = hook_requests_find(q, hooks);

	if (!r)
		return;
	free(r->why);
	*r = q->all.at[--q->all.nr];
	merge(q);
}

bool hook_requests_wait(const struct hook_requests *q)
{
	return q->failures < FAILURES_MAX &&
	       (!q->is_sent || !agent_hooks_same(&q->merged, &q->sent));
}

void hook_requests_send(struct hook_requests *q)
{
	q->sent = q->merged;
	q->is_sent = true;
}

void hook_requests_fail(struct hook_requests *q, u64 now_ns)
{
	q->is_sent = false;
	q->next_ns = now_ns + (RETRY_NS << 2 * q->failures);
	q->failures++;
}

void hook_requests_succeed(struct hook_requests *q, u64 now_ns, u32 left_out)
{
	u32 hooks = agent_hooks_mask(&q->sent) & ~left_out;

	q->failures = 0;
	for (u32 i = 0; i < AGENT_HOOKS; i++)
		if (!(hooks & 1u << i))
			q->since_ns[i] = 0;
		else if (!q->since_ns[i])
			q->since_ns[i] = now_ns;
}

void hook_requests_repeat(struct hook_requests *q)
{
	q->is_sent = false;
}

void hook_requests_reset(struct hook_requests *q)
{
	memset(q->since_ns, 0, sizeof(q->since_ns));
	q->is_sent = false;
}

u32 hook_requests_failed(const struct hook_requests *q)
{
	u32 failed = 0;

	if (q->failures < FAILURES_MAX)
		return 0;
	for (u32 i = 0; i < AGENT_HOOKS; i++)
		failed |= q->since_ns[i] ? 0 : 1u << i;
	return failed & agent_hooks_mask(&q->merged);
}
