/* SPDX-License-Identifier: Apache-2.0 */
/* The events in Java code that an agent reports besides names (jvmmap/hooks.h). */
#pragma once

#include "base/types.h"
#include "jvmmap/wire.h"

enum agent_hook {
	AGENT_HOOK_ALLOC = 1 << WIRE_HOOK_ALLOC,
	AGENT_HOOK_LOCK = 1 << WIRE_HOOK_LOCK,
	AGENT_HOOK_METHOD = 1 << WIRE_HOOK_METHOD,
};

#define AGENT_HOOKS 3

struct agent_hooks {
	u64 alloc_interval;             /* bytes; 0: no allocations */
	bool refs;                      /* also report when sampled objects are collected */
	bool collect;                   /* collect garbage before the final report of references */
	u64 lock_min_ns;                /* 0: no waits */
	char methods[WIRE_METHODS_MAX]; /* "a/B.run,a/C.go": the methods whose calls are reported */
};

/* The kinds of events that `h` requests, a mask of enum agent_hook. */
u32 agent_hooks_mask(const struct agent_hooks *h);

/*
 * Adds the events of `other` to `h`: the shorter interval and minimum, the methods of both. Returns
 * a mask of the hooks that do not fit: AGENT_HOOK_METHOD if there are too many methods.
 */
u32 agent_hooks_merge(struct agent_hooks *h, const struct agent_hooks *other);

/* Whether an agent reports the same events for both. */
bool agent_hooks_same(const struct agent_hooks *a, const struct agent_hooks *b);
