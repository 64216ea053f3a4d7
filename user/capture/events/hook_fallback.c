/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code that an agent does not report. */
#include "capture/events/hook_fallback.h"

#include "base/log.h"

/* What the fallback gives, by hook. */
static const char *const effects[][2] = {
	[AGENT_HOOK_ALLOC] = { "alloc", "libjvm's own functions report it" },
	[AGENT_HOOK_LOCK] = { "lock", "monitors have no class" },
	[AGENT_HOOK_ALLOC | AGENT_HOOK_LOCK] = { "alloc and lock",
						 "libjvm's own functions report allocations, and "
						 "monitors have no class" },
};

/* Live objects have no fallback: libjvm does not report which objects are reachable. */
void hook_fallback_take(const struct unserved_hooks *u, const struct process *p,
			struct sources *sources)
{
	u32 hooks = u->hooks & ~(u32)AGENT_HOOK_METHOD;

	if (u->hooks & AGENT_HOOK_METHOD)
		log_warn("calls of methods in %d are not recorded: %s", (int)u->id.pid, u->reason);
	if (sources_options(sources)->live && hooks & AGENT_HOOK_ALLOC) {
		log_warn("live objects of %d are not recorded: %s", (int)u->id.pid, u->reason);
		hooks &= ~(u32)AGENT_HOOK_ALLOC;
	}
	if (!hooks || hooks >= ARRAY_SIZE(effects))
		return;
	log_warn("%s in %d: %s, because the agent cannot report events: %s", effects[hooks][0],
		 (int)u->id.pid, effects[hooks][1], u->reason);
	sources_fall_back(sources, p, hooks);
}

void hook_fallback_end(u32 hooks, const struct process *p, struct sources *sources)
{
	log_debug("the agent of %d reports events again: %#x", (int)p->id.pid, hooks);
	sources_end_fallback(sources, p, hooks);
}
