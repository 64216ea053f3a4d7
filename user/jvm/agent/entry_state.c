/* SPDX-License-Identifier: Apache-2.0 */
/* The next step of an attach to one JVM, after a result. */
#include "jvm/agent/entry_state.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/attach/readiness.h"

/*
 * The pause before the first retry; each further one is twice as long. The last try comes after
 * 4.2 s. By then the agent has given places of killed readers away (WIRE_CLAIM_SHORT_NS).
 */
#define RETRY_NS    (600 * NS_PER_MS)
#define WAIT_MAX_NS (30 * NS_PER_SEC) /* between tries while the JVM starts */

void entry_set_reason(struct agents_entry *e, const char *reason)
{
	free(e->reason);
	e->reason = xstrdup(reason);
}

void entry_refuse(struct agents_entry *e, const char *reason)
{
	entry_set_reason(e, reason);
	e->state = AGENT_REFUSED;
}

void entry_refuse_and_keep(struct agents_entry *e, const char *reason)
{
	entry_refuse(e, reason);
	refusal_add(e->id, reason, e->was_signalled);
}

void entry_recall(const struct agents *a, struct agents_entry *e)
{
	auto_str struct str why = { 0 };
	struct refusal r;

	if (a->mode == AGENT_ALWAYS || !refusal_read(e->id, &r))
		return;
	e->was_signalled = r.was_signalled;
	if (refusal_holds(&r, &why))
		entry_refuse(e, why.at);
}

static void try_later(struct agents_entry *e, const char *reason, u64 pause_ns)
{
	entry_set_reason(e, reason);
	e->state = AGENT_PENDING;
	e->next_ns = time_mono_ns() + pause_ns;
}

void entry_wait_longer(struct agents_entry *e, const char *reason)
{
	u64 half_ns = (time_mono_ns() - e->requested_ns) / 2;
	u64 pause_ns = half_ns < RETRY_NS ? RETRY_NS : half_ns;

	try_later(e, reason, pause_ns < WAIT_MAX_NS ? pause_ns : WAIT_MAX_NS);
}

void entry_fail(struct agents_entry *e, const struct inject_result *result)
{
	bool may_retry = result->outcome != INJECT_REFUSED && ++e->failures < AGENTS_TRIES_MAX;

	if (may_retry)
		try_later(e, result->reason, RETRY_NS << (e->failures - 1));
	else if (result->is_lasting && !agents_entry_has_ended(e))
		entry_refuse_and_keep(e, result->reason);
	else
		entry_refuse(e, result->reason);
}

void entry_spare(struct agents_entry *e, const char *reason)
{
	entry_set_reason(e, reason);
	e->state = AGENT_SPARED;
	/* Somebody may have asked for events while the child was running. */
	if (agent_hooks_mask(&e->hooks.merged))
		try_later(e, "", 0);
}

void entry_doubt(struct agents_entry *e, const char *reason)
{
	e->has_no_vm = true;
	e->tries--;
	try_later(e, reason, 0);
}

void entry_try_again(const struct agents *a, struct agents_entry *e)
{
	e->state = AGENT_PENDING;
	e->tries = e->failures = 0;
	e->next_ns = 0;
	hook_requests_reset(&e->hooks);
	entry_recall(a, e);
}
