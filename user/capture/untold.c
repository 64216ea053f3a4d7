/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code of which an agent does not tell. */
#include "capture/untold.h"

#include "base/log.h"

/* libjvm does not tell of what is reachable. */
void untold_fall_back(struct agents *agents, struct processes *processes, struct sources *sources)
{
	static const char *const effects[][2] = {
		[AGENT_HOOK_ALLOC] = { "alloc", "libjvm's own functions tell of it" },
		[AGENT_HOOK_LOCK] = { "lock", "monitors have no class" },
		[AGENT_HOOK_ALLOC | AGENT_HOOK_LOCK] = { "alloc and lock",
							 "libjvm's own functions tell of "
							 "allocations, and monitors have no "
							 "class" },
	};
	bool is_live = sources_options(sources)->live;
	struct untold u;

	while (agents_next_untold(agents, &u)) {
		struct process *p = processes_find(processes, u.pid, u.start_ns);
		u32 hooks = is_live ? u.hooks & ~AGENT_HOOK_ALLOC : u.hooks;
		if (p && u.hooks & AGENT_HOOK_METHOD)
			log_warn("calls of methods in %d are not recorded: %s", (int)u.pid,
				 u.reason);
		hooks &= ~AGENT_HOOK_METHOD;
		if (!p || !hooks || hooks >= ARRAY_SIZE(effects))
			continue;
		log_warn("%s in %d: %s, as the agent cannot tell: %s", effects[hooks][0],
			 (int)u.pid, effects[hooks][1], u.reason);
		sources_fall_back(sources, p, hooks);
	}
}
