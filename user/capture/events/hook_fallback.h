/* SPDX-License-Identifier: Apache-2.0 */
/* Events in Java code that an agent does not report. libjvm's own functions report some of them. */
#pragma once

#include "capture/events/sources.h"

/*
 * The agent of `p` does not report u->hooks, which the recording wants. Attaches their fallback
 * probes, and warns.
 */
void hook_fallback_take(const struct unserved_hooks *u, const struct process *p,
			struct sources *sources);

/* The agent of `p` reports these hooks again: detaches their fallback probes. */
void hook_fallback_end(u32 hooks, const struct process *p, struct sources *sources);
