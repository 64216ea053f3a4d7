/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code of which an agent does not tell. */
#include "capture/untold.h"

#include "base/log.h"

/* libjvm does not tell of what is reachable. */
void untold_fall_back(struct agents *agents, struct processes *processes, struct sources *sources)
{
	static const char *const events[] = { NULL, "alloc", "lock", "alloc and lock" };
	bool is_live = sources_options(sources)->live;
	struct untold u;

	while (agents_next_untold(agents, &u)) {
		struct process *p = processes_find(processes, u.pid, u.start_ns);
		u32 hooks = is_live ? u.hooks & ~AGENT_HOOK_ALLOC : u.hooks;
		if (p && u.hooks & AGENT_HOOK_METHOD)
			log_warn("calls of methods in %d are not recorded: %s", (int)u.pid,
				 u.reason);
		hooks &= ~AGENT_HOOK_METHOD;
		if (!p || !hooks || hooks >= ARRAY_SIZE(events))
			continue;
		log_warn("%s in %d: libjvm's own functions tell of it, as the agent cannot: %s",
			 events[hooks], (int)u.pid, u.reason);
		sources_fall_back(sources, p, hooks);
	}
}
