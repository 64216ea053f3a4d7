/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code: which of them are on. */
#include "jvmmap/hooks.h"

#include "jvmmap/allocs.h"
#include "jvmmap/locks.h"

static void say(struct session *asking, enum wire_hook hook, jvmtiError err)
{
	asking->header->hook_states[hook] = err ? -(int32_t)err : WIRE_HOOK_ON;
}

void hooks_settle(JavaVM *vm, struct session *const sessions[], int nr, struct session *asking)
{
	jvmtiError alloc_err = allocs_settle(vm, sessions, nr);
	jvmtiError lock_err = locks_settle(vm, sessions, nr);
	if (asking && asking->alloc_interval)
		say(asking, WIRE_HOOK_ALLOC, alloc_err);
	if (asking && asking->lock_min_ns)
		say(asking, WIRE_HOOK_LOCK, lock_err);
}
