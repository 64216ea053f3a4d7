/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code: which of them are on. */
#include "jvmmap/hooks.h"

#include "jvmmap/allocs.h"
#include "jvmmap/locks.h"

static void report(struct session *asking, enum wire_hook hook, int is_wanted, jvmtiError err)
{
	asking->header->hook_states[hook] = !is_wanted ? WIRE_HOOK_OFF
					    : err      ? -(int32_t)err
						       : WIRE_HOOK_ON;
}

void hooks_settle(JavaVM *vm, struct session *const sessions[], int nr, struct session *asking)
{
	jvmtiError alloc_err = allocs_settle(vm, sessions, nr);
	jvmtiError lock_err = locks_settle(vm, sessions, nr);
	if (!asking)
		return;
	report(asking, WIRE_HOOK_ALLOC, asking->alloc_interval != 0, alloc_err);
	report(asking, WIRE_HOOK_LOCK, asking->lock_min_ns != 0, lock_err);
}
